/* What the memory alone would take: floor.py says how and why. */
#include <pthread.h>
#include <stdint.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

typedef uint32_t wide __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t narrow __attribute__((vector_size(16), aligned(4), may_alias));

typedef struct {
    const float *const *matrices;  /* one a space, (n_words, dim) */
    const int32_t *const *ids;     /* rows of the words, sentence after sentence */
    const int64_t *const *offsets; /* sentence borders in ids */
    float *out;                    /* (n_sentences, n_spaces * means * dim) */
    int64_t n_spaces, n_sentences, dim, means;
    int64_t chunk;  /* sentences that go through one space before the next space's turn */
    int64_t ahead;  /* prefetch the row this many words ahead; 0: leave it to the processor */
    int64_t stream; /* write around the cache */
} work;

typedef struct {
    const work *w;
    int64_t begin, end;
    uint32_t sink;
} job;

static wide read_row(const float *row, int64_t dim, wide sum) {
    int64_t i = 0;
    narrow rest = {0};
    for (; i + 16 <= dim; i += 16) sum ^= *(const wide *)(row + i);
    for (; i + 4 <= dim; i += 4) rest ^= *(const narrow *)(row + i);
    for (int k = 0; k < 4; k++) sum[k] ^= rest[k];
    return sum;
}

static void write_row(float *out, int64_t n, int64_t stream) {
    int64_t i = 0;
#ifdef __SSE__
    if (stream && (uintptr_t)out % 16 == 0)
        for (; i + 4 <= n; i += 4) _mm_stream_ps(out + i, _mm_set1_ps(1.0f));
#endif
    for (; i < n; i++) out[i] = 1.0f;
}

static void *run(void *argument) {
    job *j = argument;
    const work w = *j->w;
    const int64_t width = w.means * w.dim;
    wide sum = {0};
    for (int64_t low = j->begin; low < j->end; low += w.chunk) {
        const int64_t high = low + w.chunk < j->end ? low + w.chunk : j->end;
        for (int64_t k = 0; k < w.n_spaces; k++) {
            const int32_t *ids = w.ids[k];
            const int64_t *offsets = w.offsets[k];
            for (int64_t s = low; s < high; s++) {
                for (int64_t t = offsets[s]; t < offsets[s + 1]; t++) {
                    if (w.ahead && t + w.ahead < offsets[high]) {
                        const float *next = w.matrices[k] + ids[t + w.ahead] * w.dim;
                        for (int64_t i = 0; i < w.dim; i += 16) __builtin_prefetch(next + i);
                    }
                    sum = read_row(w.matrices[k] + ids[t] * w.dim, w.dim, sum);
                }
                write_row(w.out + (s * w.n_spaces + k) * width, width, w.stream);
            }
        }
    }
    for (int k = 0; k < 16; k++) j->sink ^= sum[k]; /* or the compiler would drop the reads */
    return 0;
}

uint32_t pass_over(const work *w, int64_t n_threads) {
    job jobs[64];
    pthread_t threads[64];
    uint32_t sink = 0;
    for (int64_t i = 0; i < n_threads; i++) {
        jobs[i] = (job){w, w->n_sentences * i / n_threads, w->n_sentences * (i + 1) / n_threads, 0};
        pthread_create(&threads[i], 0, run, &jobs[i]);
    }
    for (int64_t i = 0; i < n_threads; i++) {
        pthread_join(threads[i], 0);
        sink ^= jobs[i].sink;
    }
    return sink;
}
