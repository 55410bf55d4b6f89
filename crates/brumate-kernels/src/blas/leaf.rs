//! Small triangles. All elements of a triangle are first copied to one array. The triangle is then applied to some
//! columns at a time. These columns are copied to a buffer, where each row is a row of vectors.
//!
//! As in `lanes`, there are no closures in the loops.

#![expect(unsafe_code, reason = "reads and writes checked parts of the guest's memory by pointer")]

use pulp::{Arch, Simd, WithSimd};

use super::lanes::Real;
use super::triangle::{Rows, Triangle, Work};

/// Most rows of a small triangle.
pub(super) const LEAF: usize = 32;
/// Number of vectors in each row of the buffer. Together they hold one element of each column that is processed at a
/// time.
const VECTORS: usize = 4;
/// Number of rows that are computed at a time. This gives `ROWS * VECTORS` independent sums, which are enough that no
/// addition waits for the addition before it.
const ROWS: usize = 2;
/// Most elements in a row of the buffer. The widest vectors have 512 bits: sixteen numbers of single precision.
const WIDTH: usize = VECTORS * 16;

/// Applies a triangle of up to [`LEAF`] rows to `rows`, which has the same number of rows.
///
/// # Safety
/// All elements of the triangle can be read. All elements of the rows can be read and written. All of them are properly
/// aligned.
pub(super) unsafe fn apply<T: Real>(triangle: &Triangle<T>, rows: &Rows<T>, work: Work) {
    let mut factors = [T::default(); LEAF * LEAF];
    for row in 0..triangle.side {
        for column in 0..row {
            // SAFETY: by this function's contract.
            let element = unsafe { triangle.get(row, column) };
            factors[row * LEAF + column] = if work == Work::Solve { -element } else { element };
        }
        let own = match (triangle.unit, work) {
            (true, _) => T::ONE,
            // SAFETY: by this function's contract.
            (false, Work::Multiply) => unsafe { triangle.get(row, row) },
            // SAFETY: by this function's contract.
            (false, Work::Solve) => T::ONE / unsafe { triangle.get(row, row) },
        };
        factors[row * LEAF + row] = own;
    }
    Arch::new().dispatch(Leaf { factors: &factors, triangle, rows, work });
}

struct Leaf<'a, T> {
    /// The triangle by row, in the order of elimination: the elements below the diagonal, and the diagonal. For
    /// [`Work::Solve`] the elements below the diagonal are negated, and the diagonal has reciprocals.
    factors: &'a [T; LEAF * LEAF],
    triangle: &'a Triangle<T>,
    rows: &'a Rows<T>,
    work: Work,
}

impl<T: Real> WithSimd for Leaf<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Leaf { factors, triangle, rows, work } = self;
        let side = triangle.side;
        let width = VECTORS * size_of::<T::Lanes<S>>() / size_of::<T>();
        let mut turned = [T::default(); LEAF * WIDTH];
        let turned = &mut turned[..side * width];
        let mut first = 0;
        while first < rows.columns {
            let count = width.min(rows.columns - first);
            // SAFETY: by the contract of `apply`, which makes this value, the rows can be read and written.
            unsafe { rows.copy(triangle, first, count, turned, width, false) };
            let (lanes, _) = T::split_mut::<S>(turned);
            match work {
                Work::Solve => solve(simd, factors, side, lanes),
                Work::Multiply => multiply(simd, factors, side, lanes),
            }
            // SAFETY: as above.
            unsafe { rows.copy(triangle, first, count, turned, width, true) };
            first += width;
        }
    }
}

/// Solves the rows, from the first to the last. From each row it subtracts multiples of the rows before it, which are
/// solved already. Then it divides the row by its diagonal element.
#[inline(always)]
fn solve<S: Simd, T: Real>(simd: S, factors: &[T; LEAF * LEAF], side: usize, lanes: &mut [T::Lanes<S>]) {
    let mut row = 0;
    while row + ROWS <= side {
        solve_rows::<S, T, ROWS>(simd, FactorRows { factors, first: row }, lanes);
        row += ROWS;
    }
    while row < side {
        solve_rows::<S, T, 1>(simd, FactorRows { factors, first: row }, lanes);
        row += 1;
    }
}

/// Computes the rows of the product, from the last to the first. Each row is a sum of multiples of itself and of the
/// rows before it, which still have their old values.
#[inline(always)]
fn multiply<S: Simd, T: Real>(simd: S, factors: &[T; LEAF * LEAF], side: usize, lanes: &mut [T::Lanes<S>]) {
    let mut row = side;
    while row >= ROWS {
        row -= ROWS;
        multiply_rows::<S, T, ROWS>(simd, FactorRows { factors, first: row }, lanes);
    }
    while row > 0 {
        row -= 1;
        multiply_rows::<S, T, 1>(simd, FactorRows { factors, first: row }, lanes);
    }
}

/// Rows of the factors, from the row `first` on.
#[derive(Clone, Copy)]
struct FactorRows<'a, T> {
    factors: &'a [T; LEAF * LEAF],
    first: usize,
}

#[inline(always)]
fn solve_rows<S: Simd, T: Real, const N: usize>(simd: S, rows: FactorRows<'_, T>, lanes: &mut [T::Lanes<S>]) {
    let FactorRows { factors, first } = rows;
    let (before, own) = lanes.split_at_mut(first * VECTORS);
    let mut sums = [[T::splat(simd, T::default()); VECTORS]; N];
    for number in 0..N {
        for vector in 0..VECTORS {
            sums[number][vector] = own[number * VECTORS + vector];
        }
    }
    add_before::<S, T, N>(simd, factors, first, before, &mut sums);
    for number in 0..N {
        let row = &factors[(first + number) * LEAF + first..];
        for earlier in 0..number {
            let source = sums[earlier];
            add::<S, T>(simd, row[earlier], &source, &mut sums[number]);
        }
        let reciprocal = T::splat(simd, row[number]);
        for vector in 0..VECTORS {
            sums[number][vector] = T::times(simd, reciprocal, sums[number][vector]);
            own[number * VECTORS + vector] = sums[number][vector];
        }
    }
}

#[inline(always)]
fn multiply_rows<S: Simd, T: Real, const N: usize>(simd: S, rows: FactorRows<'_, T>, lanes: &mut [T::Lanes<S>]) {
    let FactorRows { factors, first } = rows;
    let (before, own) = lanes.split_at_mut(first * VECTORS);
    let mut sums = [[T::splat(simd, T::default()); VECTORS]; N];
    for number in 0..N {
        let row = &factors[(first + number) * LEAF + first..];
        for earlier in 0..=number {
            add::<S, T>(simd, row[earlier], &own[earlier * VECTORS..], &mut sums[number]);
        }
    }
    add_before::<S, T, N>(simd, factors, first, before, &mut sums);
    for number in 0..N {
        for vector in 0..VECTORS {
            own[number * VECTORS + vector] = sums[number][vector];
        }
    }
}

/// Adds `factor` times the row `source` to `sum`.
#[inline(always)]
fn add<S: Simd, T: Real>(simd: S, factor: T, source: &[T::Lanes<S>], sum: &mut [T::Lanes<S>; VECTORS]) {
    let (factor, source) = (T::splat(simd, factor), &source[..VECTORS]);
    for vector in 0..VECTORS {
        sum[vector] = T::multiply_add(simd, factor, source[vector], sum[vector]);
    }
}

/// Adds the multiples of all rows before `first` to the sums of `N` rows.
#[inline(always)]
fn add_before<S: Simd, T: Real, const N: usize>(
    simd: S,
    factors: &[T; LEAF * LEAF],
    first: usize,
    before: &[T::Lanes<S>],
    sums: &mut [[T::Lanes<S>; VECTORS]; N],
) {
    let mut own = *sums;
    let mut rows = [&factors[..0]; N];
    for number in 0..N {
        rows[number] = &factors[(first + number) * LEAF..][..first];
    }
    let before = &before[..first * VECTORS];
    for earlier in 0..first {
        let source = &before[earlier * VECTORS..][..VECTORS];
        for number in 0..N {
            add::<S, T>(simd, rows[number][earlier], source, &mut own[number]);
        }
    }
    *sums = own;
}
