/* The limits of the tensor core: the same loops in C. Reads a command a line, answers with the milliseconds it took.
 *   sgd | momentum | adagrad | adam | ftrl     one update of all floats
 *   insert | push | pull                       a batch of rows of one hash table with open addressing; "insert" begins anew
 *                                              when all batches are in */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* Optimizers: values, then slots, as paddlet lays them out. */

static void sgd(float *restrict w, const float *restrict g, size_t n, float rate, float l2) {
  for (size_t i = 0; i < n; i++) w[i] -= rate * (g[i] + l2 * w[i]);
}

static void momentum(float *restrict w, float *restrict v, const float *restrict g, size_t n, float rate, float m, float l2) {
  for (size_t i = 0; i < n; i++) {
    v[i] = m * v[i] + (g[i] + l2 * w[i]);
    w[i] -= rate * v[i];
  }
}

static void adagrad(float *restrict w, float *restrict a, const float *restrict g, size_t n, float rate, float eps, float l2) {
  for (size_t i = 0; i < n; i++) {
    float d = g[i] + l2 * w[i];
    a[i] += d * d;
    w[i] -= (rate * d) / (sqrtf(a[i]) + eps);
  }
}

static void adam(float *restrict w, float *restrict m, float *restrict v, const float *restrict g, size_t n, float step,
                 float root, float b1, float b2, float eps, float l2) {
  for (size_t i = 0; i < n; i++) {
    float d = g[i] + l2 * w[i];
    m[i] = b1 * m[i] + (1 - b1) * d;
    v[i] = b2 * v[i] + (1 - b2) * (d * d);
    w[i] -= (step * m[i]) / (sqrtf(v[i]) * root + eps);
  }
}

static void ftrl(float *restrict w, float *restrict z, float *restrict s, const float *restrict g, size_t n, float ia,
                 float beta, float l1, float l2) {
  for (size_t i = 0; i < n; i++) {
    float n1 = s[i] + g[i] * g[i];
    float root = sqrtf(n1);
    float sigma = (root - sqrtf(s[i])) * ia;
    float zi = z[i] + g[i] - sigma * w[i];
    z[i] = zi;
    s[i] = n1;
    float value = -(zi - copysignf(l1, zi)) / ((beta + root) * ia + l2);
    w[i] = fabsf(zi) <= l1 ? 0 : value;
  }
}

/* The table: rows in blocks, an index of row numbers, probed linearly, the next ids fetched ahead. */

enum { WIDTH = 16, AHEAD = 16, BLOCK = 1 << 14 };
struct row {
  uint64_t id;
  float values[WIDTH];
};
static struct row **blocks;
static uint32_t *slots, rows, mask, blockCount;

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

static struct row *rowAt(uint32_t number) { return &blocks[number / BLOCK][number % BLOCK]; }

static void clearTable(void) {
  for (uint32_t b = 0; b < blockCount; b++) free(blocks[b]);
  free(slots);
  rows = blockCount = 0;
  mask = 15;
  slots = calloc(16, 4);
}

static void place(uint32_t number) {
  uint32_t at = mix(rowAt(number)->id) & mask;
  while (slots[at]) at = (at + 1) & mask;
  slots[at] = number + 1;
}

static void grow(uint32_t more) {
  if (((uint64_t)rows + more) * 4 <= ((uint64_t)mask + 1) * 3) return;
  while (((uint64_t)rows + more) * 4 > ((uint64_t)mask + 1) * 3) mask = mask * 2 + 1;
  free(slots);
  slots = calloc((size_t)mask + 1, 4);
  for (uint32_t r = 0; r < rows; r++) place(r);
}

static struct row *find(uint64_t id) {
  for (uint32_t at = mix(id) & mask; slots[at]; at = (at + 1) & mask) {
    struct row *row = rowAt(slots[at] - 1);
    if (row->id == id) return row;
  }
  return 0;
}

static void fetchAhead(const uint64_t *ids, size_t i, size_t n) {
  if (i + 2 * AHEAD < n) __builtin_prefetch(&slots[mix(ids[i + 2 * AHEAD]) & mask]);
  if (i + AHEAD < n) {
    uint32_t slot = slots[mix(ids[i + AHEAD]) & mask];
    if (slot) {
      __builtin_prefetch(rowAt(slot - 1));
      __builtin_prefetch(&rowAt(slot - 1)->values[WIDTH - 1]);
    }
  }
}

static void push(const uint64_t *ids, const float *g, size_t n, float rate) {
  for (size_t i = 0; i < n; i++) {
    fetchAhead(ids, i, n);
    struct row *row = find(ids[i]);
    if (!row) {
      if (rows % BLOCK == 0) blocks[blockCount++] = malloc(BLOCK * sizeof(struct row));
      row = rowAt(rows);
      row->id = ids[i];
      memset(row->values, 0, sizeof row->values);
      place(rows++);
    }
    for (int c = 0; c < WIDTH; c++) row->values[c] -= rate * g[i * WIDTH + c];
  }
}

static void pull(const uint64_t *ids, float *out, size_t n) {
  for (size_t i = 0; i < n; i++) {
    fetchAhead(ids, i, n);
    struct row *row = find(ids[i]);
    if (row) memcpy(out + i * WIDTH, row->values, sizeof row->values);
  }
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  size_t n = strtoul(argv[1], 0, 10), all = strtoul(argv[2], 0, 10), batch = strtoul(argv[3], 0, 10);
  float *w = calloc(3 * n, 4), *g = malloc(4 * n);
  for (size_t i = 0; i < n; i++) g[i] = 0.25f;
  uint64_t *ids = malloc(8 * all);
  for (size_t i = 0; i < all; i++) ids[i] = i * 0x9e3779b97f4a7c15ull;
  float *some = malloc(4 * WIDTH * batch);
  for (size_t i = 0; i < WIDTH * batch; i++) some[i] = 0.5f;
  memset(w, 0, 12 * n);
  blocks = malloc(sizeof(*blocks) * (all / BLOCK + 2));
  clearTable();
  size_t from = 0;
  char op[32];
  while (scanf("%31s", op) == 1) {
    if (!strcmp(op, "zero")) memset(w, 0, 12 * n);
    if (!strcmp(op, "insert") && from == 0) clearTable();
    double start = now();
    if (!strcmp(op, "sgd")) sgd(w, g, n, 0.01f, 0);
    if (!strcmp(op, "momentum")) momentum(w, w + n, g, n, 0.01f, 0.9f, 0);
    if (!strcmp(op, "adagrad")) adagrad(w, w + n, g, n, 0.01f, 1e-8f, 0);
    if (!strcmp(op, "adam")) adam(w, w + n, w + 2 * n, g, n, 0.01f, 1.5f, 0.9f, 0.999f, 1e-8f, 0);
    if (!strcmp(op, "ftrl")) ftrl(w, w + n, w + 2 * n, g, n, 10, 1, 0.1f, 0.1f);
    if (!strcmp(op, "insert")) {
      grow(batch);
      push(ids + from, some, batch, 0.01f);
    }
    if (!strcmp(op, "push")) push(ids + from, some, batch, 0.01f);
    if (!strcmp(op, "pull")) pull(ids + from, some, batch);
    double took = now() - start;
    if (!strcmp(op, "insert") || !strcmp(op, "push") || !strcmp(op, "pull")) from = (from + batch) % all;
    printf("%f\n", took);
    fflush(stdout);
  }
  return 0;
}
