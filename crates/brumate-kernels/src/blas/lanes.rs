//! Products of a matrix and a vector, with the processor's own vectors.
//!
//! What counts is how often the matrix is read: some columns at a time, so that both vectors are read once for all of them, and a symmetric
//! matrix once for both its halves.
//!
//! There are no closures in the loops: one that is not inlined is compiled for any processor.

use std::ops::{AddAssign, Div, Mul, Neg};

use pulp::{Arch, Simd, WithSimd};

/// Columns that are gone through at a time: one sum each, and as many registers hold what comes from memory.
const COLUMNS: usize = 4;

/// A real number, and vectors of it.
pub(super) trait Real:
    Copy
    + Default
    + PartialOrd
    + Neg<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + pulp::bytemuck::Pod
{
    const ONE: Self;
    /// The smallest number whose reciprocal is one.
    const SAFE: Self;

    /// A vector of the processor's.
    type Lanes<S: Simd>: Copy;

    /// `slice` as vectors, and what is left of it.
    fn split<S: Simd>(slice: &[Self]) -> (&[Self::Lanes<S>], &[Self]);

    /// As above, to be written to.
    fn split_mut<S: Simd>(slice: &mut [Self]) -> (&mut [Self::Lanes<S>], &mut [Self]);

    /// The elements of `rest`, of which there are fewer than lanes, and zeros.
    fn load<S: Simd>(simd: S, rest: &[Self]) -> Self::Lanes<S>;

    /// As many elements as `rest` has.
    fn store<S: Simd>(simd: S, rest: &mut [Self], lanes: Self::Lanes<S>);

    fn splat<S: Simd>(simd: S, value: Self) -> Self::Lanes<S>;

    fn add<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S>;

    fn times<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S>;

    /// `a × b + c`, rounded once where the processor can.
    fn multiply_add<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>, c: Self::Lanes<S>) -> Self::Lanes<S>;

    /// The sum of all lanes.
    fn total<S: Simd>(simd: S, lanes: Self::Lanes<S>) -> Self;
}

macro_rules! real {
    ($type:ty, $lanes:ident, $split:ident, $split_mut:ident, $load:ident, $store:ident, $splat:ident, $add:ident, $mul:ident, $fused:ident, $total:ident) => {
        impl Real for $type {
            type Lanes<S: Simd> = S::$lanes;
            const ONE: Self = 1.0;
            const SAFE: Self = <$type>::MIN_POSITIVE;

            #[inline(always)]
            fn split<S: Simd>(slice: &[Self]) -> (&[Self::Lanes<S>], &[Self]) {
                S::$split(slice)
            }

            #[inline(always)]
            fn split_mut<S: Simd>(slice: &mut [Self]) -> (&mut [Self::Lanes<S>], &mut [Self]) {
                S::$split_mut(slice)
            }

            #[inline(always)]
            fn load<S: Simd>(simd: S, rest: &[Self]) -> Self::Lanes<S> {
                simd.$load(rest)
            }

            #[inline(always)]
            fn store<S: Simd>(simd: S, rest: &mut [Self], lanes: Self::Lanes<S>) {
                simd.$store(rest, lanes);
            }

            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> Self::Lanes<S> {
                simd.$splat(value)
            }

            #[inline(always)]
            fn add<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S> {
                simd.$add(a, b)
            }

            #[inline(always)]
            fn times<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S> {
                simd.$mul(a, b)
            }

            #[inline(always)]
            fn multiply_add<S: Simd>(
                simd: S,
                a: Self::Lanes<S>,
                b: Self::Lanes<S>,
                c: Self::Lanes<S>,
            ) -> Self::Lanes<S> {
                simd.$fused(a, b, c)
            }

            #[inline(always)]
            fn total<S: Simd>(simd: S, lanes: Self::Lanes<S>) -> Self {
                simd.$total(lanes)
            }
        }
    };
}

real!(
    f32,
    f32s,
    as_simd_f32s,
    as_mut_simd_f32s,
    partial_load_f32s,
    partial_store_f32s,
    splat_f32s,
    add_f32s,
    mul_f32s,
    mul_add_e_f32s,
    reduce_sum_f32s
);
real!(
    f64,
    f64s,
    as_simd_f64s,
    as_mut_simd_f64s,
    partial_load_f64s,
    partial_store_f64s,
    splat_f64s,
    add_f64s,
    mul_f64s,
    mul_add_e_f64s,
    reduce_sum_f64s
);

/// What is done with the matrix.
#[derive(Debug, Clone, Copy)]
pub(super) enum How {
    /// `A x`
    Plain,
    /// `Aᵀ x`
    Transposed,
    /// `A x`, of whose symmetric A only the lower half is looked at.
    Lower,
    /// `A x`, of whose symmetric A only the upper half is looked at.
    Upper,
}

/// Parts of `N` columns.
type Slices<'a, T, const N: usize> = [&'a [T]; N];

/// A matrix by column.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a, T> {
    pub elements: &'a [T],
    pub rows: usize,
    pub columns: usize,
    pub stride: usize,
    /// What its elements are multiplied by.
    pub alpha: T,
}

impl<'a, T> Matrix<'a, T> {
    /// With the guest's numbers of rows and columns, and of elements between columns.
    pub(super) fn new(elements: &'a [T], (rows, columns, stride): (u32, u32, u32), alpha: T) -> Matrix<'a, T> {
        Matrix { elements, rows: rows as usize, columns: columns as usize, stride: stride as usize, alpha }
    }

    /// The rows from `from` to before `to` of `N` columns.
    #[inline(always)]
    fn part<const N: usize>(&self, first: usize, (from, to): (usize, usize)) -> Slices<'a, T, N> {
        let mut columns = [&self.elements[..0]; N];
        for (number, column) in columns.iter_mut().enumerate() {
            *column = &self.elements[(first + number) * self.stride..][from..to];
        }
        columns
    }
}

/// Adds a product with `x` to `y`.
pub(super) struct Add<'a, T> {
    pub how: How,
    pub matrix: Matrix<'a, T>,
    pub x: &'a [T],
    pub y: &'a mut [T],
}

impl<T: Real> Add<'_, T> {
    /// With the best instructions that there are.
    pub(super) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl<T: Real> WithSimd for Add<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Add { how, matrix, x, y } = self;
        let whole = matrix.columns / COLUMNS * COLUMNS;
        for first in (0..whole).step_by(COLUMNS) {
            add::<S, T, COLUMNS>(simd, how, &matrix, first, x, y);
        }
        for last in whole..matrix.columns {
            add::<S, T, 1>(simd, how, &matrix, last, x, y);
        }
    }
}

/// What `N` columns add to `y`.
#[inline(always)]
fn add<S: Simd, T: Real, const N: usize>(
    simd: S,
    how: How,
    matrix: &Matrix<'_, T>,
    first: usize,
    x: &[T],
    y: &mut [T],
) {
    match how {
        How::Plain => plain::<S, T, N>(simd, matrix, first, x, y),
        How::Transposed => transposed::<S, T, N>(simd, matrix, first, x, y),
        How::Lower | How::Upper => symmetric::<S, T, N>(simd, matrix, matches!(how, How::Lower), first, x, y),
    }
}

/// Vectors that are `alpha` times the first `N` factors each.
#[inline(always)]
fn splat<S: Simd, T: Real, const N: usize>(simd: S, alpha: T, factors: &[T]) -> [T::Lanes<S>; N] {
    let mut all = [T::splat(simd, T::default()); N];
    for number in 0..N {
        all[number] = T::splat(simd, alpha * factors[number]);
    }
    all
}

/// Columns as `count` vectors each, and what is left of them.
#[inline(always)]
fn split<S: Simd, T: Real, const N: usize>(
    columns: Slices<'_, T, N>,
    count: usize,
) -> (Slices<'_, T::Lanes<S>, N>, Slices<'_, T, N>) {
    let mut lanes: Slices<'_, T::Lanes<S>, N> = [&[]; N];
    let mut rests = columns;
    for number in 0..N {
        let (whole, rest) = T::split::<S>(columns[number]);
        lanes[number] = &whole[..count];
        rests[number] = rest;
    }
    (lanes, rests)
}

/// `y += α A[.., first..first + N] × x[first..first + N]`
#[inline(always)]
fn plain<S: Simd, T: Real, const N: usize>(simd: S, matrix: &Matrix<'_, T>, first: usize, x: &[T], y: &mut [T]) {
    let columns = matrix.part(first, (0, y.len()));
    let factors = splat::<S, T, N>(simd, matrix.alpha, &x[first..]);
    let (y, y_rest) = T::split_mut::<S>(y);
    let (lanes, rests) = split::<S, T, N>(columns, y.len());
    for row in 0..y.len() {
        let mut sum = y[row];
        for number in 0..N {
            sum = T::multiply_add(simd, lanes[number][row], factors[number], sum);
        }
        y[row] = sum;
    }
    if !y_rest.is_empty() {
        let mut sum = T::load(simd, y_rest);
        for number in 0..N {
            sum = T::multiply_add(simd, T::load(simd, rests[number]), factors[number], sum);
        }
        T::store(simd, y_rest, sum);
    }
}

/// `y[first..first + N] += α A[.., first..first + N]ᵀ x`
#[inline(always)]
fn transposed<S: Simd, T: Real, const N: usize>(simd: S, matrix: &Matrix<'_, T>, first: usize, x: &[T], y: &mut [T]) {
    let columns = matrix.part(first, (0, x.len()));
    let (x, x_rest) = T::split::<S>(x);
    let (lanes, rests) = split::<S, T, N>(columns, x.len());
    // Two sums of each column, since a sum waits for the one before.
    let zero = T::splat(simd, T::default());
    let (mut even, mut odd) = ([zero; N], [zero; N]);
    let mut row = 0;
    while row + 1 < x.len() {
        for number in 0..N {
            even[number] = T::multiply_add(simd, lanes[number][row], x[row], even[number]);
            odd[number] = T::multiply_add(simd, lanes[number][row + 1], x[row + 1], odd[number]);
        }
        row += 2;
    }
    if row < x.len() {
        for number in 0..N {
            even[number] = T::multiply_add(simd, lanes[number][row], x[row], even[number]);
        }
    }
    if !x_rest.is_empty() {
        let x = T::load(simd, x_rest);
        for number in 0..N {
            odd[number] = T::multiply_add(simd, T::load(simd, rests[number]), x, odd[number]);
        }
    }
    for number in 0..N {
        y[first + number] += matrix.alpha * T::total(simd, T::add(simd, even[number], odd[number]));
    }
}

/// What `N` columns of one half of a symmetric matrix, and as rows of the other, add to all of `y`.
#[inline(always)]
fn symmetric<S: Simd, T: Real, const N: usize>(
    simd: S,
    matrix: &Matrix<'_, T>,
    lower: bool,
    first: usize,
    x: &[T],
    y: &mut [T],
) {
    let end = first + N;
    add_block::<T, N>(matrix.alpha, matrix.part(first, (first, end)), lower, &x[first..end], &mut y[first..end]);
    // What is beside the diagonal block stands for itself and for its mirror image.
    let (from, to) = if lower { (end, matrix.rows) } else { (0, first) };
    let columns = matrix.part(first, (from, to));
    let factors = splat::<S, T, N>(simd, matrix.alpha, &x[first..]);
    let (x, x_rest) = T::split::<S>(&x[from..to]);
    let (lanes_y, y_rest) = T::split_mut::<S>(&mut y[from..to]);
    let (lanes, rests) = split::<S, T, N>(columns, x.len());
    let lanes_y = &mut lanes_y[..x.len()];
    let mut sums = [T::splat(simd, T::default()); N];
    for row in 0..x.len() {
        let (mut of_row, of_x) = (lanes_y[row], x[row]);
        for number in 0..N {
            let element = lanes[number][row];
            sums[number] = T::multiply_add(simd, element, of_x, sums[number]);
            of_row = T::multiply_add(simd, element, factors[number], of_row);
        }
        lanes_y[row] = of_row;
    }
    if !x_rest.is_empty() {
        let (mut of_row, of_x) = (T::load(simd, y_rest), T::load(simd, x_rest));
        for number in 0..N {
            let element = T::load(simd, rests[number]);
            sums[number] = T::multiply_add(simd, element, of_x, sums[number]);
            of_row = T::multiply_add(simd, element, factors[number], of_row);
        }
        T::store(simd, y_rest, of_row);
    }
    for number in 0..N {
        y[first + number] += matrix.alpha * T::total(simd, sums[number]);
    }
}

/// As [`symmetric`], of the rows on the diagonal.
#[inline(always)]
fn add_block<T: Real, const N: usize>(alpha: T, columns: Slices<'_, T, N>, lower: bool, x: &[T], y: &mut [T]) {
    let (x, y) = (&x[..N], &mut y[..N]);
    let mut sums = [T::default(); N];
    for column in 0..N {
        sums[column] += columns[column][column] * x[column];
        for row in column + 1..N {
            let element = if lower { columns[column][row] } else { columns[row][column] };
            sums[row] += element * x[column];
            sums[column] += element * x[row];
        }
    }
    for number in 0..N {
        y[number] += alpha * sums[number];
    }
}
