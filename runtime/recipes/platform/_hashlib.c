/* The module `_hashlib`, whose interface CPython's has with OpenSSL: hashers, HMAC, PBKDF2 and scrypt. */
#define PY_SSIZE_T_CLEAN
#include "host_hash.h"

#include <stddef.h>
#include <string.h>

#define MAX_SCRYPT_MEMORY 0x7fffffff
/* OpenSSL's. */
#define DEFAULT_SCRYPT_MEMORY (32 << 20)

typedef struct {
    PyObject_HEAD
    struct hasher hasher;
} Hash;

typedef struct {
    PyObject_HEAD
    struct hmac hmac;
} Hmac;

typedef struct {
    PyTypeObject *hash, *xof, *hmac;
    PyObject *unsupported;
    /* From the functions that make hashers to names. */
    PyObject *constructors;
} Module;

static const struct algorithm *algorithm_of(PyObject *self) {
    return &ALGORITHMS[((Hash *)self)->hasher.algorithm];
}

static int view_of(PyObject *object, Py_buffer *view) {
    if (PyUnicode_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "Strings must be encoded before hashing");
        return -1;
    }
    if (!PyObject_CheckBuffer(object)) {
        PyErr_SetString(PyExc_TypeError, "object supporting the buffer API required");
        return -1;
    }
    return PyObject_GetBuffer(object, view, PyBUF_SIMPLE);
}

static int update_with(struct hasher *hasher, PyObject *data) {
    Py_buffer view;
    if (view_of(data, &view))
        return -1;
    int failed = hasher_update(hasher, view.buf, view.len);
    PyBuffer_Release(&view);
    return failed;
}

/* As hexadecimal digits. */
static PyObject *text_of(const uint8_t *digest, Py_ssize_t length) {
    PyObject *text = PyUnicode_New(2 * length, 127);
    if (!text)
        return NULL;
    Py_UCS1 *digits = PyUnicode_1BYTE_DATA(text);
    for (Py_ssize_t i = 0; i < length; i++) {
        *digits++ = "0123456789abcdef"[digest[i] >> 4];
        *digits++ = "0123456789abcdef"[digest[i] & 15];
    }
    return text;
}

/* OpenSSL's other names. */
static const char *const ALIASES[][2] = {
    {"SHA-1", "sha1"},         {"SHA-224", "sha224"},           {"SHA-256", "sha256"},       {"SHA-384", "sha384"},
    {"SHA-512", "sha512"},     {"SHA2-224", "sha224"},          {"SHA2-256", "sha256"},      {"SHA2-384", "sha384"},
    {"SHA2-512", "sha512"},    {"SHA512-224", "sha512_224"},    {"SHA512-256", "sha512_256"}, {"SHA3-224", "sha3_224"},
    {"SHA3-256", "sha3_256"},  {"SHA3-384", "sha3_384"},        {"SHA3-512", "sha3_512"},    {"SHAKE128", "shake_128"},
    {"SHAKE256", "shake_256"}, {"SHAKE-128", "shake_128"},      {"SHAKE-256", "shake_256"},  {"RIPEMD-160", "ripemd160"},
    {"RIPEMD", "ripemd160"},   {"RMD160", "ripemd160"},         {"SHA-512/256", "sha512_256"}, {"SHA-512/224", "sha512_224"},
};

/* The number of an algorithm, -1 without an exception when there is none of that name. */
static int number_of(const char *name) {
    for (size_t i = 0; i < sizeof(ALIASES) / sizeof(ALIASES[0]); i++)
        if (!PyOS_stricmp(name, ALIASES[i][0]))
            name = ALIASES[i][1];
    for (int i = 0; i < ALGORITHM_COUNT; i++)
        if (!PyOS_stricmp(name, ALGORITHMS[i].name))
            return i;
    return -1;
}

/* Hashers */

static PyObject *new_hash(Module *module, int algorithm, PyObject *data, PyObject *string) {
    if (data && string) {
        PyErr_SetString(PyExc_TypeError, "'data' and 'string' are mutually exclusive and support for 'string' keyword "
                                         "parameter is slated for removal in a future version.");
        return NULL;
    }
    data = data ? data : string;
    PyTypeObject *type = ALGORITHMS[algorithm].digest_size ? module->hash : module->xof;
    Hash *self = (Hash *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    Py_buffer view = {NULL};
    int failed = data && view_of(data, &view);
    failed = failed || hasher_start(&self->hasher, algorithm, view.buf, view.len);
    PyBuffer_Release(&view);
    if (failed)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *copy_of(PyObject *self, size_t size) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject *copy = type->tp_alloc(type, 0);
    if (copy)
        memcpy((char *)copy + sizeof(PyObject), (char *)self + sizeof(PyObject), size - sizeof(PyObject));
    return copy;
}

static PyObject *hash_copy(PyObject *self, PyObject *unused) {
    return copy_of(self, sizeof(Hash));
}

static PyObject *hash_update(PyObject *self, PyObject *data) {
    return update_with(&((Hash *)self)->hasher, data) ? NULL : Py_NewRef(Py_None);
}

static PyObject *hash_digest(PyObject *self, PyObject *unused) {
    uint8_t digest[MAX_DIGEST];
    int size = algorithm_of(self)->digest_size;
    return hasher_finish(&((Hash *)self)->hasher, digest, size) ? NULL : PyBytes_FromStringAndSize((char *)digest, size);
}

static PyObject *hash_hexdigest(PyObject *self, PyObject *unused) {
    uint8_t digest[MAX_DIGEST];
    int size = algorithm_of(self)->digest_size;
    return hasher_finish(&((Hash *)self)->hasher, digest, size) ? NULL : text_of(digest, size);
}

static PyObject *long_digest(PyObject *self, PyObject *args, PyObject *named, const char *format) {
    static char *names[] = {"length", NULL};
    Py_ssize_t length;
    if (!PyArg_ParseTupleAndKeywords(args, named, format, names, &length))
        return NULL;
    if (length < 0) {
        PyErr_SetString(PyExc_ValueError, "value must be positive");
        return NULL;
    }
    if (length > (Py_ssize_t)MAX_BYTES) {
        PyErr_Format(PyExc_OverflowError, "a digest of %zd bytes: at most %d can be made at once", length, (int)MAX_BYTES);
        return NULL;
    }
    PyObject *digest = PyBytes_FromStringAndSize(NULL, length);
    if (digest && hasher_finish(&((Hash *)self)->hasher, (uint8_t *)PyBytes_AS_STRING(digest), length))
        Py_CLEAR(digest);
    return digest;
}

static PyObject *xof_digest(PyObject *self, PyObject *args, PyObject *named) {
    return long_digest(self, args, named, "n:digest");
}

static PyObject *xof_hexdigest(PyObject *self, PyObject *args, PyObject *named) {
    PyObject *digest = long_digest(self, args, named, "n:hexdigest");
    if (!digest)
        return NULL;
    PyObject *text = text_of((uint8_t *)PyBytes_AS_STRING(digest), PyBytes_GET_SIZE(digest));
    Py_DECREF(digest);
    return text;
}

static PyObject *hash_digest_size(PyObject *self, void *unused) {
    return PyLong_FromLong(algorithm_of(self)->digest_size);
}

static PyObject *hash_block_size(PyObject *self, void *unused) {
    return PyLong_FromLong(algorithm_of(self)->block_size);
}

static PyObject *hash_name(PyObject *self, void *unused) {
    return PyUnicode_FromString(algorithm_of(self)->name);
}

static PyObject *hash_repr(PyObject *self) {
    return PyUnicode_FromFormat("<%s %s object @ %p>", algorithm_of(self)->name, Py_TYPE(self)->tp_name, self);
}

static PyMethodDef HASH_METHODS[] = {
    {"update", hash_update, METH_O, "Update this hash object's state with the provided string."},
    {"digest", hash_digest, METH_NOARGS, "digest($self, /)\n--\n\nReturn the digest value as a bytes object."},
    {"hexdigest", hash_hexdigest, METH_NOARGS,
     "hexdigest($self, /)\n--\n\nReturn the digest value as a string of hexadecimal digits."},
    {"copy", hash_copy, METH_NOARGS, "copy($self, /)\n--\n\nReturn a copy of the hash object."},
    {NULL},
};

static PyGetSetDef HASH_ATTRIBUTES[] = {
    {"digest_size", hash_digest_size},
    {"block_size", hash_block_size},
    {"name", hash_name},
    {NULL},
};

static PyType_Slot HASH_SLOTS[] = {
    {Py_tp_dealloc, dealloc},
    {Py_tp_repr, hash_repr},
    {Py_tp_doc, "An object with the state of a hash function."},
    {Py_tp_methods, HASH_METHODS},
    {Py_tp_getset, HASH_ATTRIBUTES},
    {0, NULL},
};

#define TYPE_FLAGS (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE)

static PyType_Spec HASH_SPEC = {"_hashlib.HASH", sizeof(Hash), 0, TYPE_FLAGS | Py_TPFLAGS_BASETYPE, HASH_SLOTS};

static PyMethodDef XOF_METHODS[] = {
    {"digest", (PyCFunction)(void *)xof_digest, METH_VARARGS | METH_KEYWORDS,
     "digest($self, /, length)\n--\n\nReturn the digest value as a bytes object."},
    {"hexdigest", (PyCFunction)(void *)xof_hexdigest, METH_VARARGS | METH_KEYWORDS,
     "hexdigest($self, /, length)\n--\n\nReturn the digest value as a string of hexadecimal digits."},
    {NULL},
};

static PyType_Slot XOF_SLOTS[] = {
    {Py_tp_doc, "A hash function with a digest of any length."},
    {Py_tp_methods, XOF_METHODS},
    {0, NULL},
};

static PyType_Spec XOF_SPEC = {"_hashlib.HASHXOF", sizeof(Hash), 0, TYPE_FLAGS, XOF_SLOTS};

/* The functions that make hashers */

static PyObject *make(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords, int algorithm, const char *format) {
    Module *state = PyModule_GetState(module);
    if (!keywords && count <= 1)
        return new_hash(state, algorithm, count ? args[0] : NULL, NULL);
    static char *names[] = {"data", "usedforsecurity", "string", NULL};
    PyObject *data = NULL, *string = NULL, *hash = NULL;
    int used_for_security;
    PyObject *positional = PyTuple_New(count), *named = PyDict_New();
    if (!positional || !named)
        goto done;
    for (Py_ssize_t i = 0; i < count; i++)
        PyTuple_SET_ITEM(positional, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); i++)
        if (PyDict_SetItem(named, PyTuple_GET_ITEM(keywords, i), args[count + i]))
            goto done;
    if (PyArg_ParseTupleAndKeywords(positional, named, format, names, &data, &used_for_security, &string))
        hash = new_hash(state, algorithm, data, string);
done:
    Py_XDECREF(positional);
    Py_XDECREF(named);
    return hash;
}

/* Each is a function of its own: `hmac` tells them apart. */
#define MAKERS(X) \
    X(md5, 0) X(sha1, 1) X(sha224, 2) X(sha256, 3) X(sha384, 4) X(sha512, 5) X(sha3_224, 8) X(sha3_256, 9) \
    X(sha3_384, 10) X(sha3_512, 11) X(shake_128, 12) X(shake_256, 13)
#define MAKER(name, number) \
    static PyObject *openssl_##name(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords) { \
        return make(module, args, count, keywords, number, "|O$pO:openssl_" #name); \
    }
MAKERS(MAKER)

/* The algorithm that `digest` names, a string or one of the functions above; -1 with an exception. */
static int algorithm_from(Module *module, PyObject *digest) {
    PyObject *name = digest;
    if (!PyUnicode_Check(digest)) {
        name = PyDict_GetItemWithError(module->constructors, digest);
        if (!name) {
            if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError))
                PyErr_Format(module->unsupported, "Unsupported digestmod %R", digest);
            return -1;
        }
    }
    const char *text = PyUnicode_AsUTF8(name);
    if (!text)
        return -1;
    int number = number_of(text);
    if (number < 0)
        PyErr_Format(module->unsupported, "unsupported hash type %s", text);
    return number;
}

static PyObject *hashlib_new(PyObject *module, PyObject *args, PyObject *named) {
    static char *names[] = {"name", "data", "usedforsecurity", "string", NULL};
    PyObject *name, *data = NULL, *string = NULL;
    int used_for_security;
    if (!PyArg_ParseTupleAndKeywords(args, named, "U|O$pO:new", names, &name, &data, &used_for_security, &string))
        return NULL;
    Module *state = PyModule_GetState(module);
    int number = algorithm_from(state, name);
    return number < 0 ? NULL : new_hash(state, number, data, string);
}

static PyObject *get_fips_mode(PyObject *module, PyObject *unused) {
    return PyLong_FromLong(0);
}

/* HMAC */

static Hmac *new_hmac(Module *module, const Py_buffer *key, PyObject *digest) {
    int number = algorithm_from(module, digest);
    if (number < 0)
        return NULL;
    if (!ALGORITHMS[number].digest_size) {
        PyErr_Format(module->unsupported, "HMAC with %s: its digests have no length of their own", ALGORITHMS[number].name);
        return NULL;
    }
    Hmac *self = (Hmac *)module->hmac->tp_alloc(module->hmac, 0);
    if (self && hmac_start(&self->hmac, number, key->buf, key->len))
        Py_CLEAR(self);
    return self;
}

static PyObject *hashlib_hmac_new(PyObject *module, PyObject *args, PyObject *named) {
    static char *names[] = {"key", "msg", "digestmod", NULL};
    Py_buffer key;
    PyObject *message = NULL, *digest = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, named, "y*|OO:hmac_new", names, &key, &message, &digest))
        return NULL;
    Hmac *self = NULL;
    if (!digest)
        PyErr_SetString(PyExc_TypeError, "Missing required parameter 'digestmod'.");
    else
        self = new_hmac(PyModule_GetState(module), &key, digest);
    PyBuffer_Release(&key);
    if (self && message && message != Py_None && update_with(&self->hmac.inner, message))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static PyObject *hmac_value(Hmac *self, int as_text) {
    uint8_t digest[MAX_DIGEST];
    int size = ALGORITHMS[self->hmac.inner.algorithm].digest_size;
    if (hmac_finish(&self->hmac, digest))
        return NULL;
    return as_text ? text_of(digest, size) : PyBytes_FromStringAndSize((char *)digest, size);
}

static PyObject *hashlib_hmac_digest(PyObject *module, PyObject *args, PyObject *named) {
    static char *names[] = {"key", "msg", "digest", NULL};
    Py_buffer key, message;
    PyObject *digest;
    if (!PyArg_ParseTupleAndKeywords(args, named, "y*y*O:hmac_digest", names, &key, &message, &digest))
        return NULL;
    Hmac *self = new_hmac(PyModule_GetState(module), &key, digest);
    PyObject *value = NULL;
    if (self && !hasher_update(&self->hmac.inner, message.buf, message.len))
        value = hmac_value(self, 0);
    PyBuffer_Release(&key);
    PyBuffer_Release(&message);
    Py_XDECREF(self);
    return value;
}

static const struct algorithm *algorithm_of_hmac(PyObject *self) {
    return &ALGORITHMS[((Hmac *)self)->hmac.inner.algorithm];
}

static PyObject *hmac_update(PyObject *self, PyObject *args, PyObject *named) {
    static char *names[] = {"msg", NULL};
    PyObject *message;
    if (!PyArg_ParseTupleAndKeywords(args, named, "O:update", names, &message))
        return NULL;
    return update_with(&((Hmac *)self)->hmac.inner, message) ? NULL : Py_NewRef(Py_None);
}

static PyObject *hmac_digest(PyObject *self, PyObject *unused) {
    return hmac_value((Hmac *)self, 0);
}

static PyObject *hmac_hexdigest(PyObject *self, PyObject *unused) {
    return hmac_value((Hmac *)self, 1);
}

static PyObject *hmac_copy(PyObject *self, PyObject *unused) {
    return copy_of(self, sizeof(Hmac));
}

static PyObject *hmac_digest_size(PyObject *self, void *unused) {
    return PyLong_FromLong(algorithm_of_hmac(self)->digest_size);
}

static PyObject *hmac_block_size(PyObject *self, void *unused) {
    return PyLong_FromLong(algorithm_of_hmac(self)->block_size);
}

static PyObject *hmac_name(PyObject *self, void *unused) {
    return PyUnicode_FromFormat("hmac-%s", algorithm_of_hmac(self)->name);
}

static PyObject *hmac_repr(PyObject *self) {
    return PyUnicode_FromFormat("<%s HMAC object @ %p>", algorithm_of_hmac(self)->name, self);
}

static PyMethodDef HMAC_METHODS[] = {
    {"update", (PyCFunction)(void *)hmac_update, METH_VARARGS | METH_KEYWORDS,
     "update($self, /, msg)\n--\n\nUpdate the HMAC object with msg."},
    {"digest", hmac_digest, METH_NOARGS, "digest($self, /)\n--\n\nReturn the digest of the bytes passed to the update() method so far."},
    {"hexdigest", hmac_hexdigest, METH_NOARGS, "hexdigest($self, /)\n--\n\nReturn hexadecimal digest of the bytes passed to the update() method so far."},
    {"copy", hmac_copy, METH_NOARGS, "copy($self, /)\n--\n\nReturn a copy (\"clone\") of the HMAC object."},
    {NULL},
};

static PyGetSetDef HMAC_ATTRIBUTES[] = {
    {"digest_size", hmac_digest_size},
    {"block_size", hmac_block_size},
    {"name", hmac_name},
    {NULL},
};

static PyType_Slot HMAC_SLOTS[] = {
    {Py_tp_dealloc, dealloc},
    {Py_tp_repr, hmac_repr},
    {Py_tp_doc, "An object with the state of HMAC."},
    {Py_tp_methods, HMAC_METHODS},
    {Py_tp_getset, HMAC_ATTRIBUTES},
    {0, NULL},
};

static PyType_Spec HMAC_SPEC = {"_hashlib.HMAC", sizeof(Hmac), 0, TYPE_FLAGS, HMAC_SLOTS};

/* Derived keys */

static PyObject *hashlib_pbkdf2_hmac(PyObject *module, PyObject *args, PyObject *named) {
    static char *names[] = {"hash_name", "password", "salt", "iterations", "dklen", NULL};
    const char *name;
    Py_buffer password, salt;
    PyObject *wanted, *length_given = Py_None, *key = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, named, "sy*y*O|O:pbkdf2_hmac", names, &name, &password, &salt, &wanted, &length_given))
        return NULL;
    Module *state = PyModule_GetState(module);
    int number = number_of(name);
    if (number < 0) {
        PyErr_SetString(state->unsupported, "[digital envelope routines] unsupported");
        goto done;
    }
    /* Numbers of 64 bits, as C's long has elsewhere. */
    long long rounds = PyLong_AsLongLong(wanted);
    long long length = length_given == Py_None ? ALGORITHMS[number].digest_size : -1;
    if (rounds == -1 && PyErr_Occurred())
        goto overflow;
    if (length_given != Py_None) {
        length = PyLong_AsLongLong(length_given);
        if (length == -1 && PyErr_Occurred())
            goto overflow;
    }
    if (rounds < 1)
        PyErr_SetString(PyExc_ValueError, "iteration value must be greater than 0.");
    else if (rounds > INT32_MAX)
        PyErr_SetString(PyExc_OverflowError, "iteration value is too great.");
    else if (length < 1)
        PyErr_SetString(PyExc_ValueError, "key length must be greater than 0.");
    else if (length > INT32_MAX)
        PyErr_SetString(PyExc_OverflowError, "key length is too great.");
    else if (!ALGORITHMS[number].digest_size)
        PyErr_SetString(state->unsupported, "[digital envelope routines] unsupported");
    else
        key = PyBytes_FromStringAndSize(NULL, length);
    if (key && pbkdf2(number, &password, &salt, rounds, (uint8_t *)PyBytes_AS_STRING(key), length))
        Py_CLEAR(key);
    goto done;
overflow:
    if (PyErr_ExceptionMatches(PyExc_OverflowError))
        PyErr_SetString(PyExc_OverflowError, "Python int too large to convert to C long");
done:
    PyBuffer_Release(&password);
    PyBuffer_Release(&salt);
    return key;
}

/* An argument as a number of 64 bits; -1 with an exception. */
static long long unsigned_from(PyObject *number) {
    PyObject *index = PyNumber_Index(number);
    if (!index)
        return -1;
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    if (overflow > 0)
        return INT64_MAX;
    if (value < 0) {
        PyErr_SetString(PyExc_ValueError, "Cannot convert negative int");
        return -1;
    }
    return value;
}

static PyObject *hashlib_scrypt(PyObject *module, PyObject *args, PyObject *named) {
    static char *names[] = {"password", "salt", "n", "r", "p", "maxmem", "dklen", NULL};
    Py_buffer password, salt = {NULL};
    PyObject *numbers[3] = {NULL}, *key = NULL;
    long long most = 0, length = 64;
    if (!PyArg_ParseTupleAndKeywords(args, named, "y*|$y*OOOLL:scrypt", names, &password, &salt, &numbers[0], &numbers[1],
                                     &numbers[2], &most, &length))
        return NULL;
    unsigned long long values[3];
    if (!salt.obj) {
        PyErr_SetString(PyExc_TypeError, "scrypt() missing required argument 'salt' (pos 2)");
        goto done;
    }
    for (int i = 0; i < 3; i++) {
        if (!numbers[i]) {
            PyErr_Format(PyExc_TypeError, "scrypt() missing required argument '%s' (pos %d)", names[i + 2], i + 3);
            goto done;
        }
        long long value = unsigned_from(numbers[i]);
        if (value < 0)
            goto done;
        values[i] = value;
    }
    unsigned long long n = values[0], r = values[1], p = values[2];
    if (n < 2 || n & (n - 1)) {
        PyErr_SetString(PyExc_ValueError, "n must be a power of 2.");
    } else if (most < 0 || most > MAX_SCRYPT_MEMORY) {
        PyErr_Format(PyExc_ValueError, "maxmem must be positive and smaller than %d", MAX_SCRYPT_MEMORY);
    } else if (length < 1 || length > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "dklen must be greater than 0 and smaller than %d", INT32_MAX);
    } else if (!r || !p) {
        PyErr_SetString(PyExc_ValueError, "Invalid parameter combination for n, r, p, maxmem.");
    } else {
        /* As OpenSSL counts. */
        double needed = 128.0 * r * p + 128.0 * r * (n + 2.0);
        if (p > 0x3fffffff / r || needed > (most ? most : DEFAULT_SCRYPT_MEMORY))
            PyErr_SetString(PyExc_ValueError, "[digital envelope routines] memory limit exceeded");
        else
            key = PyBytes_FromStringAndSize(NULL, length);
        if (key && scrypt(&password, &salt, n, r, p, (uint8_t *)PyBytes_AS_STRING(key), length))
            Py_CLEAR(key);
    }
done:
    PyBuffer_Release(&password);
    PyBuffer_Release(&salt);
    return key;
}

/* The module */

#define MAKER_METHOD(name, number) \
    {"openssl_" #name, (PyCFunction)(void *)openssl_##name, METH_FASTCALL | METH_KEYWORDS, \
     "openssl_" #name "($module, /, data=b'', *, usedforsecurity=True,\n               string=None)\n--\n\n" \
     "Returns a " #name " hash object; optionally initialized with a string"},

static PyMethodDef METHODS[] = {
    {"new", (PyCFunction)(void *)hashlib_new, METH_VARARGS | METH_KEYWORDS,
     "new($module, /, name, data=b'', *, usedforsecurity=True, string=None)\n--\n\n"
     "Return a new hash object of the algorithm `name`, updated with `data`."},
    MAKERS(MAKER_METHOD)
    {"hmac_new", (PyCFunction)(void *)hashlib_hmac_new, METH_VARARGS | METH_KEYWORDS,
     "hmac_new($module, /, key, msg=b'', digestmod=None)\n--\n\nReturn a new hmac object."},
    {"hmac_digest", (PyCFunction)(void *)hashlib_hmac_digest, METH_VARARGS | METH_KEYWORDS,
     "hmac_digest($module, /, key, msg, digest)\n--\n\nSingle-shot HMAC."},
    {"pbkdf2_hmac", (PyCFunction)(void *)hashlib_pbkdf2_hmac, METH_VARARGS | METH_KEYWORDS,
     "pbkdf2_hmac($module, /, hash_name, password, salt, iterations,\n            dklen=None)\n--\n\n"
     "Derive a key from a password by PKCS #5 v2.0."},
    {"scrypt", (PyCFunction)(void *)hashlib_scrypt, METH_VARARGS | METH_KEYWORDS,
     "scrypt($module, /, password, *, salt, n, r, p, maxmem=0, dklen=64)\n--\n\nDerive a key from a password by scrypt."},
    {"get_fips_mode", get_fips_mode, METH_NOARGS, "get_fips_mode($module, /)\n--\n\nReturns 0: there is no FIPS mode."},
    {NULL},
};

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec, PyTypeObject *base) {
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, (PyObject *)base);
    if (type && PyModule_AddType(module, type))
        Py_CLEAR(type);
    return type;
}

/* What is computed from the table: the names, and the functions with their names. */
static int add_tables(PyObject *module, Module *state) {
    PyObject *all = PySet_New(NULL);
    state->constructors = PyDict_New();
    if (!all || !state->constructors)
        return -1;
    for (int i = 0; i < ALGORITHM_COUNT; i++) {
        const char *name = ALGORITHMS[i].name;
        PyObject *text = PyUnicode_FromString(name);
        if (!text || PySet_Add(all, text))
            return -1;
        char maker[32];
        snprintf(maker, sizeof(maker), "openssl_%s", name);
        PyObject *function = PyObject_GetAttrString(module, maker);
        if (!function)
            PyErr_Clear();
        else if (PyDict_SetItem(state->constructors, function, text))
            return -1;
        Py_XDECREF(function);
        Py_DECREF(text);
    }
    PyObject *names = PyFrozenSet_New(all), *view = PyDictProxy_New(state->constructors);
    Py_DECREF(all);
    if (PyModule_Add(module, "openssl_md_meth_names", names))
        return -1;
    return PyModule_Add(module, "_constructors", view);
}

static int fill(PyObject *module) {
    Module *state = PyModule_GetState(module);
    if (!(state->hash = add_type(module, &HASH_SPEC, NULL)) || !(state->xof = add_type(module, &XOF_SPEC, state->hash)) ||
        !(state->hmac = add_type(module, &HMAC_SPEC, NULL)))
        return -1;
    state->unsupported = PyErr_NewException("_hashlib.UnsupportedDigestmodError", PyExc_ValueError, NULL);
    if (!state->unsupported || PyModule_AddObjectRef(module, "UnsupportedDigestmodError", state->unsupported))
        return -1;
    PyObject *operators = PyImport_ImportModule("_operator");
    if (!operators)
        return -1;
    PyObject *compare = PyObject_GetAttrString(operators, "_compare_digest");
    Py_DECREF(operators);
    if (PyModule_Add(module, "compare_digest", compare))
        return -1;
    return add_tables(module, state);
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
    Module *state = PyModule_GetState(module);
    Py_VISIT(state->hash);
    Py_VISIT(state->xof);
    Py_VISIT(state->hmac);
    Py_VISIT(state->unsupported);
    Py_VISIT(state->constructors);
    return 0;
}

static int clear(PyObject *module) {
    Module *state = PyModule_GetState(module);
    Py_CLEAR(state->hash);
    Py_CLEAR(state->xof);
    Py_CLEAR(state->hmac);
    Py_CLEAR(state->unsupported);
    Py_CLEAR(state->constructors);
    return 0;
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, fill}, {0, NULL}};

static struct PyModuleDef MODULE = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_hashlib",
    .m_doc = "Hash functions, which the host computes.",
    .m_size = sizeof(Module),
    .m_methods = METHODS,
    .m_slots = SLOTS,
    .m_traverse = traverse,
    .m_clear = clear,
};

PyMODINIT_FUNC PyInit__hashlib(void) {
    return PyModuleDef_Init(&MODULE);
}
