/* The limits of the models: forward, loss, metrics and gradient of mini-batches, as one would write them in C. Reads
 * batches from a file, then a command a line: lr | fm | ffm | softmax. Answers with the milliseconds that one sweep over all
 * batches took. Values of features are 1. Softmax applies AdaGrad to its weights after each batch. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FACTORS = 16, CLASSES = 10, FIELDS = 39, FIELD_FACTORS = 4, WIDEST = FIELDS * FIELD_FACTORS };

struct batch {
  uint32_t records, features, distinct, width;
  uint32_t *offsets, *columns, *fields;
  float *labels, *inputs;
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static double loss, squares;
static uint32_t correct;

/* (p - y) / records */
static float slopeOf(float z, float y, float records) {
  float power = expf(-fabsf(z));
  float p = (z >= 0 ? 1 : power) / (1 + power);
  loss += fmaxf(z, 0) - y * z + log1pf(power);
  squares += (p - y) * (p - y);
  correct += (z > 0) == (y > 0.5f);
  return (p - y) / records;
}

static void lr(const struct batch *b, const float *restrict w, float *restrict g, float *restrict bias) {
  memset(g, 0, 4 * (size_t)b->distinct);
  for (uint32_t r = 0; r < b->records; r++) {
    float z = *bias;
    for (uint32_t i = b->offsets[r]; i < b->offsets[r + 1]; i++) z += w[b->columns[i]];
    float slope = slopeOf(z, b->labels[r], b->records);
    for (uint32_t i = b->offsets[r]; i < b->offsets[r + 1]; i++) g[b->columns[i]] += slope;
  }
}

static void fm(const struct batch *b, const float *restrict w, const float *restrict v, float *restrict g,
               float *restrict h, float *restrict bias) {
  memset(g, 0, 4 * (size_t)b->distinct);
  memset(h, 0, 4 * (size_t)b->distinct * FACTORS);
  for (uint32_t r = 0; r < b->records; r++) {
    float z = *bias, s[FACTORS] = {0}, q[FACTORS] = {0}, pairs = 0;
    for (uint32_t i = b->offsets[r]; i < b->offsets[r + 1]; i++) {
      const float *row = v + (size_t)b->columns[i] * FACTORS;
      z += w[b->columns[i]];
      for (int f = 0; f < FACTORS; f++) {
        s[f] += row[f];
        q[f] += row[f] * row[f];
      }
    }
    for (int f = 0; f < FACTORS; f++) pairs += s[f] * s[f] - q[f];
    float slope = slopeOf(z + 0.5f * pairs, b->labels[r], b->records);
    for (uint32_t i = b->offsets[r]; i < b->offsets[r + 1]; i++) {
      const float *row = v + (size_t)b->columns[i] * FACTORS;
      float *to = h + (size_t)b->columns[i] * FACTORS;
      g[b->columns[i]] += slope;
      for (int f = 0; f < FACTORS; f++) to[f] += slope * (s[f] - row[f]);
    }
  }
}

/* Values are divided by the norm of their record: the product of two is one over the number of its features. */
static void ffm(const struct batch *b, const float *restrict w, const float *restrict v, float *restrict g,
                float *restrict h, float *restrict bias) {
  memset(g, 0, 4 * (size_t)b->distinct);
  memset(h, 0, 4 * (size_t)b->distinct * WIDEST);
  for (uint32_t r = 0; r < b->records; r++) {
    uint32_t from = b->offsets[r], to = b->offsets[r + 1];
    float z = 0, x = 1 / sqrtf(to - from), p = x * x, sums[FIELD_FACTORS] = {0};
    for (uint32_t i = from; i < to; i++) z += w[b->columns[i]] * x;
    for (uint32_t i = from; i < to; i++) {
      const float *row = v + (size_t)b->columns[i] * WIDEST, *other = v + b->fields[i] * FIELD_FACTORS;
      for (uint32_t j = i + 1; j < to; j++) {
        const float *a = row + b->fields[j] * FIELD_FACTORS, *c = other + (size_t)b->columns[j] * WIDEST;
        for (int f = 0; f < FIELD_FACTORS; f++) sums[f] += a[f] * c[f] * p;
      }
    }
    float slope = slopeOf(*bias + z + (sums[0] + sums[1] + sums[2] + sums[3]), b->labels[r], b->records);
    for (uint32_t i = from; i < to; i++) g[b->columns[i]] += slope * x;
    for (uint32_t i = from; i < to; i++) {
      size_t own = (size_t)b->columns[i] * WIDEST, field = b->fields[i] * FIELD_FACTORS;
      for (uint32_t j = i + 1; j < to; j++) {
        size_t left = own + b->fields[j] * FIELD_FACTORS, right = (size_t)b->columns[j] * WIDEST + field;
        for (int f = 0; f < FIELD_FACTORS; f++) {
          h[left + f] += slope * p * v[right + f];
          h[right + f] += slope * p * v[left + f];
        }
      }
    }
  }
}

static void softmax(const struct batch *b, float *restrict w, float *restrict a, float *restrict g) {
  size_t floats = (size_t)(b->width + 1) * CLASSES;
  memset(g, 0, 4 * floats);
  for (uint32_t r = 0; r < b->records; r++) {
    const float *x = b->inputs + (size_t)r * b->width;
    uint32_t label = b->labels[r];
    float z[CLASSES], highest = -INFINITY, total = 0;
    memcpy(z, w + b->width * CLASSES, sizeof z);
    for (uint32_t i = 0; i < b->width; i++) {
      if (x[i] == 0) continue;
      for (int c = 0; c < CLASSES; c++) z[c] += x[i] * w[i * CLASSES + c];
    }
    uint32_t best = 0;
    for (int c = 0; c < CLASSES; c++) {
      if (z[c] <= highest) continue;
      highest = z[c];
      best = c;
    }
    float own = z[label];
    for (int c = 0; c < CLASSES; c++) total += z[c] = expf(z[c] - highest);
    loss += logf(total) - (own - highest);
    correct += best == label;
    for (int c = 0; c < CLASSES; c++) z[c] = (z[c] / total - (c == (int)label)) / b->records;
    for (int c = 0; c < CLASSES; c++) g[b->width * CLASSES + c] += z[c];
    for (uint32_t i = 0; i < b->width; i++) {
      if (x[i] == 0) continue;
      for (int c = 0; c < CLASSES; c++) g[i * CLASSES + c] += x[i] * z[c];
    }
  }
  for (size_t i = 0; i < floats; i++) {
    a[i] += g[i] * g[i];
    w[i] -= 0.01f * g[i] / (sqrtf(a[i]) + 1e-8f);
  }
}

static void *readArray(FILE *file, size_t count) {
  void *array = malloc(4 * count + 4);
  if (fread(array, 4, count, file) != count) exit(3);
  return array;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  FILE *file = fopen(argv[1], "rb");
  if (!file) return 2;
  uint32_t count;
  if (fread(&count, 4, 1, file) != 1) return 3;
  struct batch *batches = calloc(count, sizeof *batches);
  size_t rows = 1;
  for (uint32_t i = 0; i < count; i++) {
    struct batch *b = &batches[i];
    if (fread(b, 4, 4, file) != 4) return 3;
    b->offsets = readArray(file, b->records + 1);
    b->columns = readArray(file, b->features);
    b->fields = readArray(file, b->features);
    b->labels = readArray(file, b->records);
    b->inputs = readArray(file, (size_t)b->records * b->width);
    if (b->distinct > rows) rows = b->distinct;
    if ((size_t)(b->width + 1) * CLASSES > rows) rows = (size_t)(b->width + 1) * CLASSES;
  }
  float *w = malloc(4 * rows), *g = malloc(4 * rows), *v = malloc(4 * WIDEST * rows), *h = malloc(4 * WIDEST * rows);
  for (size_t i = 0; i < WIDEST * rows; i++) v[i] = 0.01f * ((i * 7919) % 13) - 0.06f;
  for (size_t i = 0; i < rows; i++) w[i] = 0.01f * ((i * 31) % 17) - 0.08f;
  float bias = 0;
  char op[32];
  while (scanf("%31s", op) == 1) {
    double start = now();
    for (uint32_t i = 0; i < count; i++) {
      if (!strcmp(op, "lr")) lr(&batches[i], w, g, &bias);
      if (!strcmp(op, "fm")) fm(&batches[i], w, v, g, h, &bias);
      if (!strcmp(op, "ffm")) ffm(&batches[i], w, v, g, h, &bias);
      if (!strcmp(op, "softmax")) softmax(&batches[i], w, v, g);
    }
    double took = now() - start;
    /* What is computed is used: the compiler leaves nothing out. */
    float check = g[0] + h[0] + loss + squares + correct;
    printf("%f %f\n", took, check);
    fflush(stdout);
  }
  return 0;
}
