/* What the host computes for _hashlib. crates/brumate-engine/src/hashes has the other side. */
#ifndef HOST_HASH_H
#define HOST_HASH_H

#include <Python.h>
#include <stdint.h>

#define STATE_BYTES 384
/* The most that one request may ask for. */
#define MAX_BYTES (8u << 20)
#define MAX_ROUNDS 10000u
#define MAX_DIGEST 64
#define MAX_BLOCK 168

enum operation { START, UPDATE, FINISH, ROUNDS };

struct request {
    uint32_t operation;
    uint32_t algorithm;
    void *state;
    const void *input;
    uint32_t count;
    void *output;
    uint32_t output_bytes;
};

/* 1 when done, 0 when the request makes no sense. */
extern uint32_t brumate_hash(const struct request *request);

/* In the host's order. */
struct algorithm {
    const char *name;
    /* 0 for those without a length of their own. */
    int digest_size;
    int block_size;
};

extern const struct algorithm ALGORITHMS[];
extern const int ALGORITHM_COUNT;

struct hasher {
    uint32_t algorithm;
    uint8_t state[STATE_BYTES];
};

/* These return 0, or -1 with an exception. */
int hasher_start(struct hasher *hasher, int algorithm, const void *data, Py_ssize_t length);
int hasher_update(struct hasher *hasher, const void *data, Py_ssize_t length);
int hasher_finish(const struct hasher *hasher, uint8_t *digest, Py_ssize_t length);

/* HMAC (RFC 2104): the hashers behind the two keys. */
struct hmac {
    struct hasher inner;
    struct hasher outer;
};

int hmac_start(struct hmac *hmac, int algorithm, const void *key, Py_ssize_t length);
int hmac_finish(const struct hmac *hmac, uint8_t *digest);

/* PBKDF2 (RFC 8018) and scrypt (RFC 7914). */
int pbkdf2(int algorithm, const Py_buffer *password, const Py_buffer *salt, uint64_t rounds, uint8_t *key, Py_ssize_t length);
int scrypt(const Py_buffer *password, const Py_buffer *salt, uint32_t n, uint32_t r, uint32_t p, uint8_t *key, Py_ssize_t length);

#endif
