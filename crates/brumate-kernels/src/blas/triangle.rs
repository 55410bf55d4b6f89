//! Triangles: `B ← α op(A) B`, and the solutions of `op(A) X = α B` in its place, also with A from the right.
//!
//! A is always taken as it is for a lower triangle that comes from the left: strides say what is transposed. By halves, what is beside the
//! triangles is a product of matrices; small triangles are worked on with all of their numbers at hand, for some columns of B at a time.

#![expect(unsafe_code, reason = "reads and writes checked parts of the guest's memory by pointer")]

use super::lanes::Real;
use super::leaf::{self, LEAF};
use super::matrix::{Element, MAX_SIDE, Stored, number};
use super::{Arguments, Refused};
use brumate_abi::memory::GuestMemory;

/// A triangle: all that is looked at of a matrix.
pub(super) struct Triangle<T> {
    pub first: *const T,
    /// Elements between rows, and between columns.
    pub strides: (isize, isize),
    /// Which half; the order of elimination is from the first row, or from the last.
    pub lower: bool,
    /// The diagonal is all ones, and not looked at.
    pub unit: bool,
    pub side: usize,
}

/// What a triangle is applied to.
pub(super) struct Rows<T> {
    pub first: *mut T,
    /// Elements between rows, and between columns.
    pub strides: (isize, isize),
    pub columns: usize,
}

/// Whether products or solutions are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Multiply,
    Solve,
}

/// The kernels `brumate_?trmm`.
///
/// # Errors
/// When a matrix is too large, not aligned, not wholly inside memory, or one of its columns runs into the next.
pub(super) fn product<T: Element + Real>(memory: GuestMemory<'_>, block: u32) -> Result<(), Refused> {
    run::<T>(memory, block, Work::Multiply)
}

/// The kernels `brumate_?trsm`.
///
/// # Errors
/// As [`product`].
pub(super) fn solution<T: Element + Real>(memory: GuestMemory<'_>, block: u32) -> Result<(), Refused> {
    run::<T>(memory, block, Work::Solve)
}

fn run<T: Element + Real>(memory: GuestMemory<'_>, block: u32, work: Work) -> Result<(), Refused> {
    let Arguments { mut memory, words } = Arguments::read(memory, block)?;
    let [right, lower, transposed, unit, m, n, alpha, a, a_stride, b, b_stride] = words;
    let (side, columns) = if right == 0 { (m, n) } else { (n, m) };
    if m.max(n) > MAX_SIDE || right.max(lower).max(transposed).max(unit) > 1 || side == 0 || columns == 0 {
        return Err(Refused);
    }
    Stored { address: a, rows: side, columns: side, stride: a_stride }.check::<T>(&memory)?;
    Stored { address: b, rows: m, columns: n, stride: b_stride }.check::<T>(&memory)?;
    let alpha: T = number(&memory, alpha)?;
    if alpha == T::ZERO {
        // By definition A is not looked at then.
        return Err(Refused);
    }
    // X op(A) is (op(A)ᵀ Xᵀ)ᵀ.
    let turned = transposed != right;
    let strides = |turned: bool, stride: u32| if turned { (stride as isize, 1) } else { (1, stride as isize) };
    let base = memory.base();
    let triangle = Triangle {
        first: base.wrapping_add(a as usize).cast_const().cast(),
        strides: strides(turned, a_stride),
        lower: (lower == 1) != turned,
        unit: unit == 1,
        side: side as usize,
    };
    let rows = Rows {
        first: base.wrapping_add(b as usize).cast(),
        strides: strides(right == 1, b_stride),
        columns: columns as usize,
    };
    // SAFETY: `check` has found both matrices inside of the memory, aligned (the memory begins at a page) and their columns apart. `memory`
    // is borrowed mutably, and all access goes through pointers: where the guest has put one over the other, numbers are wrong
    // and nothing else is.
    unsafe {
        if alpha != T::ONE {
            scale(&rows, triangle.side, alpha);
        }
        apply(&triangle, &rows, work);
    }
    Ok(())
}

/// # Safety
/// All elements of the first `count` rows can be read and written, properly aligned.
unsafe fn scale<T: Real>(rows: &Rows<T>, count: usize, factor: T) {
    for column in 0..rows.columns {
        for row in 0..count {
            // SAFETY: by this function's contract.
            unsafe {
                let place = rows.first.offset(row as isize * rows.strides.0 + column as isize * rows.strides.1);
                *place = factor * *place;
            }
        }
    }
}

/// Applies the triangle to as many rows as it has.
///
/// # Safety
/// All elements of the triangle's matrix can be read and those of the rows read and written, properly aligned; those of the rows are distinct.
pub(super) unsafe fn apply<T: Element + Real>(triangle: &Triangle<T>, rows: &Rows<T>, work: Work) {
    // SAFETY: by this function's contract; parts of both are inside of them.
    unsafe {
        let side = triangle.side;
        if side <= LEAF {
            return leaf::apply(triangle, rows, work);
        }
        let half = (side / 2).next_multiple_of(LEAF);
        let (earlier, later) = if triangle.lower { ((0, half), (half, side)) } else { ((half, side), (0, half)) };
        let (stride_i, stride_j) = triangle.strides;
        let part = |(from, to): (usize, usize)| Triangle {
            first: triangle.first.offset(from as isize * (stride_i + stride_j)),
            side: to - from,
            ..*triangle
        };
        let some =
            |(from, _): (usize, usize)| Rows { first: rows.first.offset(from as isize * rows.strides.0), ..*rows };
        let beside = || {
            let corner = triangle.first.offset(later.0 as isize * stride_i + earlier.0 as isize * stride_j);
            let factor = if work == Work::Solve { -T::ONE } else { T::ONE };
            let (source, target) = (some(earlier), some(later));
            let (stride_row, stride_column) = rows.strides;
            let (count, inner) = (later.1 - later.0, earlier.1 - earlier.0);
            let a = (corner, stride_i, stride_j);
            let b = (source.first.cast_const(), stride_row, stride_column);
            let c = (target.first, stride_row, stride_column);
            if stride_row == 1 {
                T::multiply([count, rows.columns, inner], [factor, T::ONE], a, b, c);
            } else {
                // The same, transposed: columns of C lie together.
                let turn = |(first, row, column)| (first, column, row);
                T::multiply([rows.columns, count, inner], [factor, T::ONE], turn(b), turn(a), (c.0, c.2, c.1));
            }
        };
        match work {
            Work::Solve => {
                apply(&part(earlier), &some(earlier), work);
                beside();
                apply(&part(later), &some(later), work);
            }
            Work::Multiply => {
                apply(&part(later), &some(later), work);
                beside();
                apply(&part(earlier), &some(earlier), work);
            }
        }
    }
}

impl<T: Copy> Triangle<T> {
    /// The row that is number `index` in the order of elimination.
    #[inline(always)]
    fn place(&self, index: usize) -> isize {
        (if self.lower { index } else { self.side - 1 - index }) as isize
    }

    /// An element, by the numbers of its row and its column in the order of elimination.
    ///
    /// # Safety
    /// It can be read, and is aligned.
    pub(super) unsafe fn get(&self, row: usize, column: usize) -> T {
        let offset = self.place(row) * self.strides.0 + self.place(column) * self.strides.1;
        // SAFETY: by this function's contract.
        unsafe { *self.first.offset(offset) }
    }
}

impl<T: Copy> Rows<T> {
    /// Copies some columns to `turned`, where rows of `width` elements are in the order of elimination, or back.
    ///
    /// # Safety
    /// As many rows as the triangle has can be read and written, aligned, in the columns from `first` on.
    #[inline(always)]
    pub(super) unsafe fn copy(
        &self,
        triangle: &Triangle<T>,
        first: usize,
        count: usize,
        turned: &mut [T],
        width: usize,
        back: bool,
    ) {
        let (stride_row, stride_column) = self.strides;
        let step = if triangle.lower { stride_row } else { -stride_row };
        // SAFETY: by this function's contract; `turned` is asserted to be as long.
        unsafe {
            assert!(count <= width && turned.len() >= triangle.side * width);
            let inside = turned.as_mut_ptr();
            let outside = self.first.offset(triangle.place(0) * stride_row + first as isize * stride_column);
            if stride_column == 1 {
                for row in 0..triangle.side {
                    let (inside, outside) = (inside.add(row * width), outside.offset(row as isize * step));
                    if back { outside.copy_from(inside, count) } else { inside.copy_from(outside, count) }
                }
                return;
            }
            for column in 0..count {
                let (mut inside, mut outside) = (inside.add(column), outside.offset(column as isize * stride_column));
                for _ in 0..triangle.side {
                    if back {
                        *outside = *inside
                    } else {
                        *inside = *outside
                    }
                    (inside, outside) = (inside.wrapping_add(width), outside.wrapping_offset(step));
                }
            }
        }
    }
}
