"""cffi_sample.py <file.c>: writes the C source of `_cffi_sample`, an extension module in cffi's API mode.

`tests/compat/cffi_work.py` uses what is declared here.
"""

import sys

import cffi

DECLARATIONS = """
    #define SAMPLE_LIMIT ...
    static const char *const SAMPLE_NAME;
    enum colour { RED, GREEN = 10, BLUE, ... };
    typedef struct { double x, y; } point;
    typedef struct { int visible; ...; } partial;
    struct record { uint8_t kind; int64_t number; char name[8]; unsigned low : 3, high : 5; };
    typedef union { uint32_t number; uint8_t bytes[4]; } word;
    typedef struct stack stack;
    typedef int (*binary)(int, int);
    typedef ... *handle;
    typedef int... counter_t;

    int calls;
    counter_t counter;
    partial hides;
    point origin;
    int table[4];
    binary current;

    int64_t combine(int8_t, uint16_t, int64_t, float, double, _Bool);
    long double twice(long double);
    point middle(point, point);
    struct record next_record(struct record);
    word swapped(word);
    double distance(const point *, const point *);
    enum colour after(enum colour);
    double sum(int count, ...);
    int format(char *, size_t, const char *, ...);

    stack *stack_new(void);
    void stack_push(stack *, int);
    int stack_pop(stack *);
    void stack_free(stack *);
    handle handle_of(int);
    int handle_value(handle);

    binary operation(char);
    point (*mover(void))(point, double);
    int fold(binary, const int *, size_t, int);
    double integral(double (*)(double, void *), void *, double, double, int);
    int64_t apply_wide(int64_t (*)(int64_t, float, int64_t), int64_t);
    double apply_point(double (*)(point, int), point);
    int fails_with(int number);

    extern "Python" int on_item(int, void *);
    extern "Python" point on_point(point);
    extern "Python+C" int64_t on_wide(int64_t, float);
    int each(int count, void *);
    point through(point);
    int64_t through_wide(int64_t, float);
"""

SOURCE = r"""
    #include <errno.h>
    #include <math.h>
    #include <stdarg.h>
    #include <stdint.h>
    #include <stdio.h>
    #include <stdlib.h>

    #define SAMPLE_LIMIT 4000000000u
    static const char *const SAMPLE_NAME = "sample";
    enum colour { RED, GREEN = 10, BLUE };
    typedef struct { double x, y; } point;
    typedef struct { int64_t hidden; int visible; } partial;
    struct record { uint8_t kind; int64_t number; char name[8]; unsigned low : 3, high : 5; };
    typedef union { uint32_t number; uint8_t bytes[4]; } word;
    typedef struct stack { int size, values[100]; } stack;
    typedef int (*binary)(int, int);
    typedef struct opaque *handle;
    typedef int16_t counter_t;

    static int add(int a, int b) { return a + b; }
    static int multiply(int a, int b) { return a * b; }
    int calls;
    counter_t counter = 32767;
    partial hides = {1, 2};
    point origin = {1.5, -1.5};
    int table[4] = {1, 2, 3, 4};
    binary current = add;

    static int64_t combine(int8_t a, uint16_t b, int64_t c, float d, double e, _Bool f) {
        calls++;
        return a + b + c + (int64_t)(d + e) + f;
    }
    static long double twice(long double x) { return 2 * x; }
    static point middle(point a, point b) {
        point result = {(a.x + b.x) / 2, (a.y + b.y) / 2};
        return result;
    }
    static struct record next_record(struct record r) {
        r.kind++, r.number--, r.name[0] ^= 32, r.low++, r.high--;
        return r;
    }
    static word swapped(word w) {
        w.number = __builtin_bswap32(w.number);
        return w;
    }
    static double distance(const point *a, const point *b) { return hypot(a->x - b->x, a->y - b->y); }
    static enum colour after(enum colour c) { return c == RED ? GREEN : c == GREEN ? BLUE : RED; }
    static double sum(int count, ...) {
        double total = 0;
        va_list list;
        va_start(list, count);
        for (int i = 0; i < count; i++) total += i % 2 ? va_arg(list, double) : (double)va_arg(list, int64_t);
        va_end(list);
        return total;
    }
    static int format(char *buffer, size_t size, const char *template, ...) {
        va_list list;
        va_start(list, template);
        int length = vsnprintf(buffer, size, template, list);
        va_end(list);
        return length;
    }

    static stack *stack_new(void) { return calloc(1, sizeof(stack)); }
    static void stack_push(stack *s, int value) { s->values[s->size++] = value; }
    static int stack_pop(stack *s) { return s->values[--s->size]; }
    static void stack_free(stack *s) { calls += 1000; free(s); }
    static handle handle_of(int value) { return (handle)(intptr_t)value; }
    static int handle_value(handle h) { return (int)(intptr_t)h; }

    static binary operation(char sign) { return sign == '+' ? add : sign == '*' ? multiply : NULL; }
    static point moved(point p, double by) { p.x += by, p.y += by; return p; }
    static point (*mover(void))(point, double) { return moved; }
    static int fold(binary f, const int *values, size_t count, int start) {
        for (size_t i = 0; i < count; i++) start = f(start, values[i]);
        return start;
    }
    static double integral(double (*f)(double, void *), void *data, double from, double to, int steps) {
        double total = 0, width = (to - from) / steps;
        for (int i = 0; i < steps; i++) total += f(from + (i + 0.5) * width, data) * width;
        return total;
    }
    static int64_t apply_wide(int64_t (*f)(int64_t, float, int64_t), int64_t x) { return f(x, 0.5f, -x); }
    static double apply_point(double (*f)(point, int), point p) { return f(p, 3); }
    static int fails_with(int number) { errno = number; return -1; }

    static int on_item(int, void *);
    static point on_point(point);
    int64_t on_wide(int64_t, float);
    static int each(int count, void *data) {
        int total = 0;
        for (int i = 0; i < count; i++) total += on_item(i, data);
        return total;
    }
    static point through(point p) { return on_point(p); }
    static int64_t through_wide(int64_t a, float b) { return on_wide(a, b); }
"""

ffi = cffi.FFI()
ffi.cdef(DECLARATIONS)
ffi.set_source("_cffi_sample", SOURCE)
ffi.emit_c_code(sys.argv[1])
