/* System calls that the interpreter was built without: the timer of SIGALRM, which the host keeps, and times of files. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>

/* Sets the timer (seconds) unless `delay` is negative; what was set before goes to `old`. 0, or a negative error number. */
extern int32_t brumate_set_timer(double delay, double interval, double old[2]);

static PyObject *set_timer(PyObject *module, PyObject *args) {
    double delay, interval, old[2];
    if (!PyArg_ParseTuple(args, "dd:set_timer", &delay, &interval))
        return NULL;
    int32_t error = brumate_set_timer(delay, interval, old);
    if (error) {
        errno = -error;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    return Py_BuildValue("dd", old[0], old[1]);
}

static PyObject *set_times(PyObject *module, PyObject *args) {
    PyObject *path;
    long long accessed, modified;
    int follow;
    if (!PyArg_ParseTuple(args, "O&LLp:set_times", PyUnicode_FSConverter, &path, &accessed, &modified, &follow))
        return NULL;
    const long long second = 1000000000;
    struct timespec times[2] = {
        {.tv_sec = accessed / second - (accessed % second < 0), .tv_nsec = (accessed % second + second) % second},
        {.tv_sec = modified / second - (modified % second < 0), .tv_nsec = (modified % second + second) % second},
    };
    int failed = utimensat(AT_FDCWD, PyBytes_AS_STRING(path), times, follow ? 0 : AT_SYMLINK_NOFOLLOW);
    Py_DECREF(path);
    return failed ? PyErr_SetFromErrno(PyExc_OSError) : Py_NewRef(Py_None);
}

static PyMethodDef METHODS[] = {
    {"set_times", set_times, METH_VARARGS,
     "set_times($module, path, accessed, modified, follow, /)\n--\n\nSets a file's times, in nanoseconds."},
    {"set_timer", set_timer, METH_VARARGS,
     "set_timer($module, delay, interval, /)\n--\n\nSets the timer unless `delay` is negative. Returns what was set before, in seconds."},
    {NULL},
};

static struct PyModuleDef MODULE = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_brumate_system",
    .m_methods = METHODS,
};

PyMODINIT_FUNC PyInit__brumate_system(void) {
    return PyModuleDef_Init(&MODULE);
}
