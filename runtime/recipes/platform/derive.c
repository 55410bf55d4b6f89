/* Hashers, HMAC, PBKDF2 and scrypt upon the host's hash functions. */
#include "host_hash.h"

#include <string.h>
#include <wasm_simd128.h>

const struct algorithm ALGORITHMS[] = {
    {"md5", 16, 64},       {"sha1", 20, 64},        {"sha224", 28, 64},     {"sha256", 32, 64},
    {"sha384", 48, 128},   {"sha512", 64, 128},     {"sha512_224", 28, 128}, {"sha512_256", 32, 128},
    {"sha3_224", 28, 144}, {"sha3_256", 32, 136},   {"sha3_384", 48, 104},  {"sha3_512", 64, 72},
    {"shake_128", 0, 168}, {"shake_256", 0, 136},   {"ripemd160", 20, 64},  {"sm3", 32, 64},
};
const int ALGORITHM_COUNT = sizeof(ALGORITHMS) / sizeof(ALGORITHMS[0]);

static int SHA256 = 3;

static int ask(const struct request *request) {
    if (brumate_hash(request))
        return 0;
    PyErr_SetString(PyExc_SystemError, "the host refused a hash request: this _hashlib is not of the same Brumate");
    return -1;
}

int hasher_start(struct hasher *hasher, int algorithm, const void *data, Py_ssize_t length) {
    hasher->algorithm = algorithm;
    uint32_t part = length < MAX_BYTES ? length : MAX_BYTES;
    if (ask(&(struct request){START, algorithm, hasher->state, data, part, NULL, 0}))
        return -1;
    return hasher_update(hasher, (const uint8_t *)data + part, length - part);
}

int hasher_update(struct hasher *hasher, const void *data, Py_ssize_t length) {
    const uint8_t *rest = data;
    while (length > 0) {
        uint32_t part = length < MAX_BYTES ? length : MAX_BYTES;
        if (ask(&(struct request){UPDATE, hasher->algorithm, hasher->state, rest, part, NULL, 0}))
            return -1;
        rest += part;
        length -= part;
        if (length > 0 && PyErr_CheckSignals())
            return -1;
    }
    return 0;
}

int hasher_finish(const struct hasher *hasher, uint8_t *digest, Py_ssize_t length) {
    return ask(&(struct request){FINISH, hasher->algorithm, (void *)hasher->state, NULL, 0, digest, length});
}

int hmac_start(struct hmac *hmac, int algorithm, const void *key, Py_ssize_t length) {
    int block = ALGORITHMS[algorithm].block_size;
    uint8_t pad[MAX_BLOCK] = {0};
    struct hasher *inner = &hmac->inner, *outer = &hmac->outer;
    if (length > block) {
        if (hasher_start(inner, algorithm, key, length) ||
            hasher_finish(inner, pad, ALGORITHMS[algorithm].digest_size))
            return -1;
    } else {
        memcpy(pad, key, length);
    }
    for (int i = 0; i < block; i++)
        pad[i] ^= 0x36;
    if (hasher_start(inner, algorithm, pad, block))
        return -1;
    for (int i = 0; i < block; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    return hasher_start(outer, algorithm, pad, block);
}

int hmac_finish(const struct hmac *hmac, uint8_t *digest) {
    int size = ALGORITHMS[hmac->inner.algorithm].digest_size;
    struct hasher outer = hmac->outer;
    if (hasher_finish(&hmac->inner, digest, size) || hasher_update(&outer, digest, size))
        return -1;
    return hasher_finish(&outer, digest, size);
}

int pbkdf2(int algorithm, const Py_buffer *password, const Py_buffer *salt, uint64_t rounds, uint8_t *key, Py_ssize_t length) {
    struct hmac start;
    if (hmac_start(&start, algorithm, password->buf, password->len))
        return -1;
    int size = ALGORITHMS[algorithm].digest_size;
    for (uint32_t block = 1; length > 0; block++) {
        struct hmac first = start;
        uint8_t number[4] = {block >> 24, block >> 16, block >> 8, block};
        /* The last round's result, and the sum of all. */
        uint8_t results[2 * MAX_DIGEST];
        if (hasher_update(&first.inner, salt->buf, salt->len) || hasher_update(&first.inner, number, 4) ||
            hmac_finish(&first, results))
            return -1;
        memcpy(results + size, results, size);
        for (uint64_t left = rounds - 1; left > 0;) {
            uint32_t part = left < MAX_ROUNDS ? left : MAX_ROUNDS;
            if (ask(&(struct request){ROUNDS, algorithm, start.inner.state, start.outer.state, part, results, 2 * size}))
                return -1;
            left -= part;
            if (PyErr_CheckSignals())
                return -1;
        }
        Py_ssize_t part = length < size ? length : size;
        memcpy(key, results + size, part);
        key += part;
        length -= part;
    }
    return 0;
}

#define ROTATED(x, bits) wasm_v128_or(wasm_i32x4_shl(x, bits), wasm_u32x4_shr(x, 32 - (bits)))

/* Salsa20/8 of a block of 64 bytes, whose words lie by diagonals, so that each step is one of whole vectors. */
static void salsa20_8(v128_t block[4]) {
    v128_t a = block[0], b = block[1], c = block[2], d = block[3];
    for (int round = 0; round < 8; round += 2) {
        b = wasm_v128_xor(b, ROTATED(wasm_i32x4_add(a, d), 7));
        c = wasm_v128_xor(c, ROTATED(wasm_i32x4_add(b, a), 9));
        d = wasm_v128_xor(d, ROTATED(wasm_i32x4_add(c, b), 13));
        a = wasm_v128_xor(a, ROTATED(wasm_i32x4_add(d, c), 18));
        b = wasm_i32x4_shuffle(b, b, 3, 0, 1, 2);
        c = wasm_i32x4_shuffle(c, c, 2, 3, 0, 1);
        d = wasm_i32x4_shuffle(d, d, 1, 2, 3, 0);
        d = wasm_v128_xor(d, ROTATED(wasm_i32x4_add(a, b), 7));
        c = wasm_v128_xor(c, ROTATED(wasm_i32x4_add(d, a), 9));
        b = wasm_v128_xor(b, ROTATED(wasm_i32x4_add(c, d), 13));
        a = wasm_v128_xor(a, ROTATED(wasm_i32x4_add(b, c), 18));
        b = wasm_i32x4_shuffle(b, b, 1, 2, 3, 0);
        c = wasm_i32x4_shuffle(c, c, 2, 3, 0, 1);
        d = wasm_i32x4_shuffle(d, d, 3, 0, 1, 2);
    }
    block[0] = wasm_i32x4_add(block[0], a);
    block[1] = wasm_i32x4_add(block[1], b);
    block[2] = wasm_i32x4_add(block[2], c);
    block[3] = wasm_i32x4_add(block[3], d);
}

/* Words of a block, from rows to diagonals and back. */
static const uint8_t DIAGONAL[16] = {0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11};

static void to_diagonals(uint32_t *blocks, uint32_t count) {
    for (uint32_t *block = blocks; block < blocks + 16 * count; block += 16) {
        uint32_t words[16];
        memcpy(words, block, 64);
        for (int i = 0; i < 16; i++)
            block[i] = words[DIAGONAL[i]];
    }
}

static void from_diagonals(uint32_t *blocks, uint32_t count) {
    for (uint32_t *block = blocks; block < blocks + 16 * count; block += 16) {
        uint32_t words[16];
        memcpy(words, block, 64);
        for (int i = 0; i < 16; i++)
            block[DIAGONAL[i]] = words[i];
    }
}

/* scryptBlockMix of 2r blocks; even ones go to the first half of `to`, odd ones to the second. */
static void block_mix(const v128_t *from, v128_t *to, uint32_t r) {
    v128_t x[4];
    memcpy(x, from + (2 * r - 1) * 4, 64);
    for (uint32_t i = 0; i < 2 * r; i++) {
        for (int k = 0; k < 4; k++)
            x[k] = wasm_v128_xor(x[k], from[i * 4 + k]);
        salsa20_8(x);
        memcpy(to + (i / 2 + (i & 1) * r) * 4, x, 64);
    }
}

/* scryptROMix of one block of 128 r bytes, with room for n and two more. */
static int rom_mix(uint8_t *block, uint32_t n, uint32_t r, v128_t *room) {
    size_t size = 128 * (size_t)r, vectors = size / 16;
    v128_t *x = room + n * vectors, *y = x + vectors;
    memcpy(x, block, size);
    to_diagonals((uint32_t *)x, 2 * r);
    for (uint32_t i = 0; i < 2 * n; i++) {
        if (i < n) {
            memcpy(room + i * vectors, x, size);
        } else {
            /* Integerify: the first word of the last block lies first among its diagonals too. */
            const v128_t *other = room + (((uint32_t *)x)[(2 * r - 1) * 16] & (n - 1)) * vectors;
            for (size_t k = 0; k < vectors; k++)
                x[k] = wasm_v128_xor(x[k], other[k]);
        }
        block_mix(x, y, r);
        v128_t *swapped = x;
        x = y;
        y = swapped;
        if (i % 4096 == 4095 && PyErr_CheckSignals())
            return -1;
    }
    from_diagonals((uint32_t *)x, 2 * r);
    memcpy(block, x, size);
    return 0;
}

int scrypt(const Py_buffer *password, const Py_buffer *salt, uint32_t n, uint32_t r, uint32_t p, uint8_t *key, Py_ssize_t length) {
    size_t size = 128 * (size_t)r;
    Py_buffer blocks = {.len = size * p};
    blocks.buf = PyMem_Malloc(blocks.len);
    uint8_t *room = PyMem_Malloc(size * (n + 2) + 16);
    int failed = -1;
    if (!blocks.buf || !room) {
        PyErr_NoMemory();
        goto done;
    }
    v128_t *aligned = (v128_t *)(((uintptr_t)room + 15) & ~(uintptr_t)15);
    if (pbkdf2(SHA256, password, salt, 1, blocks.buf, blocks.len))
        goto done;
    for (uint32_t i = 0; i < p; i++)
        if (rom_mix((uint8_t *)blocks.buf + i * size, n, r, aligned))
            goto done;
    failed = pbkdf2(SHA256, password, &blocks, 1, key, length);
done:
    PyMem_Free(blocks.buf);
    PyMem_Free(room);
    return failed;
}
