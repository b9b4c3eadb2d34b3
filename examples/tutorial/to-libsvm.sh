#!/bin/sh
# Converts CSV files with a header, whose first column is the label, to libsvm files beside them.
# Each distinct COLUMN=VALUE of the first file becomes a feature; features.txt lists "NUMBER COLUMN=VALUE".
# Values that only later files have are left out.
#
#   to-libsvm.sh train.csv test.csv
set -eu

awk -F, '
  FNR == 1 { split($0, column, ","); next }
  { for (i = 2; i <= NF; i++) if (!((column[i] "=" $i) in id)) {
      id[column[i] "=" $i] = ++count
      print count, column[i] "=" $i
  } }' "$1" >features.txt

for file in "$@"; do
  awk '
    FILENAME == "features.txt" { id[$2] = $1; next }
    FNR == 1 { split($0, column, ","); next }
    { n = split($0, value, ",")
      line = value[1]
      for (i = 2; i <= n; i++) if ((column[i] "=" value[i]) in id) line = line " " id[column[i] "=" value[i]] ":1"
      print line
    }' features.txt "$file" >"${file%.csv}.libsvm"
done
