/* The limits of training: one thread of C that reads a file once and then trains. Prints the milliseconds of reading
 * and of all passes, those that the passes had a core, the records of a pass, and the mean loss of the last one.
 *   lr | fm FILE PASSES RATE                   text of LIBSVM; AdaGrad, an update after each record; fm has 16 factors
 *   softmax IMAGES LABELS PASSES RATE BATCH    inflated idx files; Adam, an update after each batch */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FACTORS = 16 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void *enlarged(void *memory, size_t bytes) {
  void *larger = realloc(memory, bytes);
  if (!larger) exit(3);
  return larger;
}

static void *zeros(size_t bytes) {
  void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!memory) exit(3);
  return memset(memory, 0, bytes);
}

/* One byte of 0 ends what is read. */
static char *readAll(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(2);
  }
  fseek(file, 0, SEEK_END);
  *length = ftell(file);
  rewind(file);
  char *bytes = malloc(*length + 1);
  if (!bytes || fread(bytes, 1, *length, file) != *length) exit(3);
  bytes[*length] = 0;
  fclose(file);
  return bytes;
}

/* Sparse records. */

struct records {
  size_t count, features;
  uint32_t *from, *ids, bound;
  float *values, *labels;
};

static float readNumber(char **at) {
  char *p = *at, *start = p;
  float sign = *p == '-' ? -1 : 1;
  if (*p == '-' || *p == '+') p++;
  float number = 0, unit = 0.1f;
  for (; *p >= '0' && *p <= '9'; p++) number = number * 10 + (*p - '0');
  if (*p == '.')
    for (p++; *p >= '0' && *p <= '9'; p++, unit *= 0.1f) number += unit * (*p - '0');
  if (*p == 'e' || *p == 'E') return strtof(start, at);
  *at = p;
  return sign * number;
}

static struct records readRecords(const char *path) {
  size_t length, room = 0, roomOfFeatures = 0;
  char *text = readAll(path, &length), *p = text;
  struct records r = {0};
  while (*p) {
    if (r.count + 2 > room) {
      room = 2 * room + 1024;
      r.from = enlarged(r.from, 4 * room);
      r.labels = enlarged(r.labels, 4 * room);
    }
    r.from[r.count] = r.features;
    r.labels[r.count++] = readNumber(&p) > 0;
    for (; *p && *p != '\n'; p++) {
      if (*p < '0' || *p > '9') continue;
      if (r.features == roomOfFeatures) {
        roomOfFeatures = 2 * roomOfFeatures + 1024;
        r.ids = enlarged(r.ids, 4 * roomOfFeatures);
        r.values = enlarged(r.values, 4 * roomOfFeatures);
      }
      uint32_t id = 0;
      for (; *p >= '0' && *p <= '9'; p++) id = id * 10 + (*p - '0');
      p++;
      r.ids[r.features] = id;
      r.values[r.features++] = readNumber(&p);
      if (id >= r.bound) r.bound = id + 1;
      if (!*p || *p == '\n') break;
    }
    if (*p) p++;
  }
  if (r.count) r.from[r.count] = r.features;
  free(text);
  return r;
}

static inline float adagrad(float *w, float *sum, float g, float rate) {
  *sum += g * g;
  return *w -= rate * g / (sqrtf(*sum) + 1e-8f);
}

/* The gradient by the output, and the loss. */
static inline float logistic(float z, float label, double *loss) {
  float e = expf(-fabsf(z));
  *loss += log1pf(e) + (z > 0 ? z : 0) - label * z;
  return (z >= 0 ? 1 / (1 + e) : e / (1 + e)) - label;
}

struct weight {
  float w, sum;
};

/* When the memory of the model is there. */
static double trainingBegan;
static clock_t usedBefore;

static void beginTraining(void) {
  trainingBegan = now();
  usedBefore = clock();
}

static double trainLr(const struct records *r, size_t passes, float rate) {
  struct weight *weights = zeros(sizeof(struct weight) * (r->bound + 1)), bias = {0, 0};
  double loss = 0;
  beginTraining();
  for (size_t pass = 0; pass < passes; pass++) {
    loss = 0;
    for (size_t i = 0; i < r->count; i++) {
      float z = bias.w;
      for (uint32_t k = r->from[i]; k < r->from[i + 1]; k++) z += weights[r->ids[k]].w * r->values[k];
      float d = logistic(z, r->labels[i], &loss);
      adagrad(&bias.w, &bias.sum, d, rate);
      for (uint32_t k = r->from[i]; k < r->from[i + 1]; k++) {
        struct weight *weight = &weights[r->ids[k]];
        adagrad(&weight->w, &weight->sum, d * r->values[k], rate);
      }
    }
  }
  return loss / r->count;
}

struct factors {
  float v[FACTORS], sums[FACTORS];
};

static double trainFm(const struct records *r, size_t passes, float rate) {
  struct weight *weights = zeros(sizeof(struct weight) * (r->bound + 1)), bias = {0, 0};
  struct factors *rows = zeros(sizeof(struct factors) * (r->bound + 1));
  srand(1);
  for (uint32_t id = 0; id < r->bound; id++)
    for (int f = 0; f < FACTORS; f++) rows[id].v[f] = 0.02f * ((float)rand() / RAND_MAX - 0.5f);
  double loss = 0;
  beginTraining();
  for (size_t pass = 0; pass < passes; pass++) {
    loss = 0;
    for (size_t i = 0; i < r->count; i++) {
      float z = bias.w, squares = 0, totals[FACTORS] = {0}, parts[FACTORS] = {0};
      for (uint32_t k = r->from[i]; k < r->from[i + 1]; k++) {
        float x = r->values[k];
        const float *v = rows[r->ids[k]].v;
        z += weights[r->ids[k]].w * x;
        for (int f = 0; f < FACTORS; f++) {
          float p = v[f] * x;
          totals[f] += p;
          parts[f] += p * p;
        }
      }
      for (int f = 0; f < FACTORS; f++) squares += totals[f] * totals[f] - parts[f];
      float d = logistic(z + 0.5f * squares, r->labels[i], &loss);
      adagrad(&bias.w, &bias.sum, d, rate);
      for (uint32_t k = r->from[i]; k < r->from[i + 1]; k++) {
        float x = r->values[k];
        struct weight *weight = &weights[r->ids[k]];
        struct factors *row = &rows[r->ids[k]];
        adagrad(&weight->w, &weight->sum, d * x, rate);
        for (int f = 0; f < FACTORS; f++)
          adagrad(&row->v[f], &row->sums[f], d * x * (totals[f] - row->v[f] * x), rate);
      }
    }
  }
  return loss / r->count;
}

/* Dense images: the classes of a pixel are one vector, so that a record is one multiplication a pixel. */

enum { CLASSES = 16, AT_ONCE = 4 };
typedef float vector __attribute__((vector_size(4 * CLASSES)));

struct images {
  size_t count, pixels;
  float *inputs;
  const uint8_t *labels;
};

static uint32_t big(const char *at) {
  const uint8_t *b = (const uint8_t *)at;
  return (uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

static struct images readImages(const char *imagesPath, const char *labelsPath) {
  size_t length;
  char *bytes = readAll(imagesPath, &length);
  struct images r = {big(bytes + 4), (size_t)big(bytes + 8) * big(bytes + 12), 0, 0};
  r.labels = (uint8_t *)readAll(labelsPath, &length) + 8;
  r.inputs = malloc(4 * r.count * r.pixels);
  for (size_t i = 0; i < r.count * r.pixels; i++) r.inputs[i] = (uint8_t)bytes[16 + i] / 255.0f;
  free(bytes);
  return r;
}

static void adam(float *w, float *m, float *v, const float *g, size_t n, float rate, size_t step) {
  float corrected = rate / (1 - powf(0.9f, step)), root = 1 / sqrtf(1 - powf(0.999f, step));
  for (size_t i = 0; i < n; i++) {
    m[i] = 0.9f * m[i] + 0.1f * g[i];
    v[i] = 0.999f * v[i] + 0.001f * g[i] * g[i];
    w[i] -= corrected * m[i] / (sqrtf(v[i]) * root + 1e-8f);
  }
}

/* From outputs to gradients by them, of the mean of so many records. */
static void softmax(float *z, int label, float share, double *loss) {
  float most = z[0], sum = 0;
  for (int c = 1; c < 10; c++) most = z[c] > most ? z[c] : most;
  float ofLabel = z[label] - most;
  for (int c = 0; c < 10; c++) sum += z[c] = expf(z[c] - most);
  *loss += logf(sum) - ofLabel;
  for (int c = 0; c < CLASSES; c++) z[c] = c < 10 ? (z[c] / sum - (c == label)) * share : 0;
}

/* AT_ONCE records, fewer at the end of a batch: then the last one stands for those that lack, without a gradient. */
static void addGradients(const struct images *r, size_t first, size_t count, float share, const vector *w, vector *g,
                         double *loss) {
  const float *x[AT_ONCE];
  union {
    vector all;
    float each[CLASSES];
  } z[AT_ONCE];
  for (size_t k = 0; k < AT_ONCE; k++) {
    x[k] = r->inputs + (first + (k < count ? k : count - 1)) * r->pixels;
    z[k].all = w[r->pixels];
  }
  for (size_t p = 0; p < r->pixels; p++)
    for (int k = 0; k < AT_ONCE; k++) z[k].all += w[p] * x[k][p];
  for (size_t k = 0; k < AT_ONCE; k++) {
    if (k < count) softmax(z[k].each, r->labels[first + k], share, loss);
    else z[k].all *= 0;
  }
  for (size_t p = 0; p < r->pixels; p++)
    for (int k = 0; k < AT_ONCE; k++) g[p] += z[k].all * x[k][p];
  for (int k = 0; k < AT_ONCE; k++) g[r->pixels] += z[k].all;
}

static double trainSoftmax(const struct images *r, size_t passes, float rate, size_t batch) {
  size_t rows = r->pixels + 1, bytes = rows * sizeof(vector), step = 0;
  vector *w = zeros(bytes), *m = zeros(bytes), *v = zeros(bytes), *g = zeros(bytes);
  double loss = 0;
  beginTraining();
  for (size_t pass = 0; pass < passes; pass++) {
    loss = 0;
    for (size_t from = 0; from < r->count; from += batch) {
      size_t to = from + batch < r->count ? from + batch : r->count;
      memset(g, 0, bytes);
      for (size_t i = from; i < to; i += AT_ONCE) {
        size_t some = to - i < AT_ONCE ? to - i : AT_ONCE;
        addGradients(r, i, some, 1.0f / (to - from), w, g, &loss);
      }
      adam((float *)w, (float *)m, (float *)v, (float *)g, rows * CLASSES, rate, ++step);
    }
  }
  return loss / r->count;
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  double began = now(), read, loss;
  size_t count;
  if (!strcmp(argv[1], "softmax")) {
    if (argc != 7) return 2;
    struct images r = readImages(argv[2], argv[3]);
    read = now();
    count = r.count;
    loss = trainSoftmax(&r, strtoul(argv[4], 0, 10), strtof(argv[5], 0), strtoul(argv[6], 0, 10));
  } else {
    struct records r = readRecords(argv[2]);
    size_t passes = strtoul(argv[3], 0, 10);
    float rate = strtof(argv[4], 0);
    read = now();
    count = r.count;
    loss = !strcmp(argv[1], "fm") ? trainFm(&r, passes, rate) : trainLr(&r, passes, rate);
  }
  double done = now(), used = (clock() - usedBefore) * 1e3 / CLOCKS_PER_SEC;
  printf("{\"readMs\": %f, \"trainMs\": %f, \"cpuMs\": %f, \"records\": %zu, \"loss\": %f}\n", read - began,
         done - trainingBegan, used, count, loss);
  return 0;
}
