//! Products of a matrix and a vector. They use the vector instructions of the processor.
//!
//! Reads from memory decide the speed. Some columns are processed together, so that both vectors are read only once for
//! all of them. Of a symmetric matrix, each stored element is read once and used for both halves.
//!
//! The loops contain no closures. A closure that is not inlined is compiled without the special instructions of this
//! processor.

use std::ops::{AddAssign, Div, Mul, Neg};

use pulp::{Arch, Simd, WithSimd};

/// Number of columns that are processed together. Each column needs registers for its sum and for the elements from
/// memory.
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
    /// The smallest positive normal number. Its reciprocal is finite.
    const SAFE: Self;

    /// A vector of the processor, with elements of this type.
    type Lanes<S: Simd>: Copy;

    /// Splits `slice` into vectors and the remaining elements, which are fewer than lanes.
    fn split<S: Simd>(slice: &[Self]) -> (&[Self::Lanes<S>], &[Self]);

    /// Splits `slice` as [`Real::split`] does, for writing.
    fn split_mut<S: Simd>(slice: &mut [Self]) -> (&mut [Self::Lanes<S>], &mut [Self]);

    /// Returns a vector with the elements of `rest`, and zeros in the other lanes. `rest` has fewer elements than there
    /// are lanes.
    fn load<S: Simd>(simd: S, rest: &[Self]) -> Self::Lanes<S>;

    /// Writes the first lanes to `rest`, as many as it has elements.
    fn store<S: Simd>(simd: S, rest: &mut [Self], lanes: Self::Lanes<S>);

    fn splat<S: Simd>(simd: S, value: Self) -> Self::Lanes<S>;

    fn add<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S>;

    fn times<S: Simd>(simd: S, a: Self::Lanes<S>, b: Self::Lanes<S>) -> Self::Lanes<S>;

    /// Returns `a × b + c`. It is rounded only once if the processor supports that.
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

/// The kind of product.
#[derive(Debug, Clone, Copy)]
pub(super) enum How {
    /// `A x`
    Plain,
    /// `Aᵀ x`
    Transposed,
    /// `A x` for a symmetric A. Only its lower half is read.
    Lower,
    /// `A x` for a symmetric A. Only its upper half is read.
    Upper,
}

/// The same rows of `N` columns.
type Slices<'a, T, const N: usize> = [&'a [T]; N];

/// A matrix that is stored by column.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a, T> {
    pub elements: &'a [T],
    pub rows: usize,
    pub columns: usize,
    pub stride: usize,
    /// Factor of all elements.
    pub alpha: T,
}

impl<'a, T> Matrix<'a, T> {
    /// Makes a matrix with the guest's sizes: the number of rows, the number of columns, and the number of elements
    /// from one column to the next.
    pub(super) fn new(elements: &'a [T], (rows, columns, stride): (u32, u32, u32), alpha: T) -> Matrix<'a, T> {
        Matrix { elements, rows: rows as usize, columns: columns as usize, stride: stride as usize, alpha }
    }

    /// Returns the rows `from..to` of the `N` columns from `first` on.
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
    /// Adds the product, with the best instructions of this processor.
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

/// Adds to `y` the part of the product that comes from the `N` columns from `first` on.
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

/// Returns a vector for each of the first `N` factors. All lanes of the vector are `alpha` times the factor.
#[inline(always)]
fn splat<S: Simd, T: Real, const N: usize>(simd: S, alpha: T, factors: &[T]) -> [T::Lanes<S>; N] {
    let mut all = [T::splat(simd, T::default()); N];
    for number in 0..N {
        all[number] = T::splat(simd, alpha * factors[number]);
    }
    all
}

/// Splits each column into `count` vectors and the remaining elements.
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
    // Each column has two sums, because each addition waits for the addition before it to the same sum.
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

/// Adds to `y` the part of the product that comes from `N` columns of one half of a symmetric matrix. These columns are
/// also rows of the other half, and that part is added too.
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
    // Each element outside the diagonal block is used for itself and for its mirror image.
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

/// Does the work of [`symmetric`] for the block on the diagonal.
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
