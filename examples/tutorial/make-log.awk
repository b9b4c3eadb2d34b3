# Makes a log of ad impressions as an ad server would write it: CSV with a header. Some ads, users and hours are clicked
# more often than others, so there is something to learn. Its own generator of random numbers makes the same log on every
# machine.
#
#   awk -v rows=40000 -v seed=1 -f make-log.awk >train.csv
function random() { state = (state * 69069 + 1) % 4294967296; return state / 4294967296 }
BEGIN {
  state = seed; print "click,user,ad,device,hour"
  split("phone tablet desktop", devices, " ")
  for (row = 0; row < rows; row++) {
    user = int(random() * 500); ad = int(random() * 40); device = 1 + int(random() * 3); hour = int(random() * 24)
    score = -4.2 + (ad % 7) * 0.5 + (user % 5) * 0.3 + (device == 1 ? 0.6 : 0) + (hour > 17 ? 0.8 : 0)
    click = random() < 1 / (1 + exp(-score))
    printf "%d,u%d,ad%d,%s,%d\n", click, user, ad, devices[device], hour
  }
}
