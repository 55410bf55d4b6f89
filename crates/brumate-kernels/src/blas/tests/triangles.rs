//! Triangles and factorisations against plain loops.

use super::*;

/// Numbers by column, with two more in each column than rows.
struct Columns {
    numbers: Vec<f64>,
    rows: u32,
}

impl Columns {
    fn at(&self, row: u32, column: u32) -> f64 {
        self.numbers[(column * (self.rows + 2) + row) as usize]
    }

    /// `other`'s numbers, but for those of the matrix.
    fn between(&self, other: &Columns) -> bool {
        let stride = self.rows as usize + 2;
        let pairs = self.numbers.chunks(stride).zip(other.numbers.chunks(stride));
        pairs.into_iter().all(|(one, other)| one[stride - 2..] == other[stride - 2..])
    }
}

fn pairs(rows: u32, columns: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..columns).flat_map(move |column| (0..rows).map(move |row| (row, column)))
}

/// A triangle with nothing that is a number where nobody may look.
fn triangle(guest: &mut Guest, side: u32, lower: bool, unit: bool) -> (u32, Columns) {
    let mut a = Columns { numbers: vec![f64::NAN; ((side + 2) * side) as usize], rows: side };
    for (row, column) in pairs(side, side).filter(|(row, column)| row == column || (row > column) == lower) {
        if row == column && unit {
            continue;
        }
        let number = guest.number();
        a.numbers[(column * (side + 2) + row) as usize] =
            if row == column { number.signum() + number } else { number / f64::from(side) };
    }
    (guest.put(&a.numbers), a)
}

/// `op(A) B` or `B op(A)` of a triangle.
fn product(a: &Columns, b: &Columns, columns: u32, [right, lower, transposed, unit]: [u32; 4]) -> Vec<f64> {
    let element = |row: u32, column: u32| {
        let (row, column) = if transposed == 1 { (column, row) } else { (row, column) };
        match (row == column, (row > column) == (lower == 1)) {
            (true, _) => {
                if unit == 1 {
                    1.0
                } else {
                    a.at(row, column)
                }
            }
            (false, true) => a.at(row, column),
            (false, false) => 0.0,
        }
    };
    let sum = |(row, column): (u32, u32)| -> f64 {
        if right == 0 {
            (0..b.rows).map(|inner| element(row, inner) * b.at(inner, column)).sum()
        } else {
            (0..columns).map(|inner| b.at(row, inner) * element(inner, column)).sum()
        }
    };
    pairs(b.rows, columns).map(sum).collect()
}

#[test]
fn triangles_of_every_kind() {
    let kinds = (0..16u32).map(|bits| [bits & 1, bits >> 1 & 1, bits >> 2 & 1, bits >> 3]);
    let sizes = [1u32, 2, 5, 31, 32, 33, 70].into_iter().flat_map(|side| [1u32, 3, 17, 40].map(|other| (side, other)));
    for (kind, (side, other)) in kinds.flat_map(|kind| sizes.clone().map(move |size| (kind, size))) {
        let [right, lower, transposed, unit] = kind;
        let mut guest = Guest::new();
        let (a, triangle) = triangle(&mut guest, side, lower == 1, unit == 1);
        let (m, n) = if right == 0 { (side, other) } else { (other, side) };
        for (name, factor) in
            [("brumate_dtrmm", 1.0), ("brumate_dtrmm", -0.5), ("brumate_dtrsm", 1.0), ("brumate_dtrsm", 3.0)]
        {
            let (b, numbers) = guest.random(((m + 2) * n) as usize);
            let before = Columns { numbers, rows: m };
            let alpha = guest.put(&[factor]);
            let words = [right, lower, transposed, unit, m, n, alpha, a, side + 2, b, m + 2];
            guest.call(name, &words).expect("proper arguments");
            let after = Columns { numbers: guest.get(b, before.numbers.len()), rows: m };
            assert!(before.between(&after));
            let all = |matrix: &Columns, factor: f64| -> Vec<f64> {
                pairs(m, n).map(|(row, column)| factor * matrix.at(row, column)).collect()
            };
            if name == "brumate_dtrmm" {
                let product = product(&triangle, &before, n, kind);
                close(&all(&after, 1.0), &product.iter().map(|number| factor * number).collect::<Vec<_>>());
            } else {
                close(&product(&triangle, &after, n, kind), &all(&before, factor));
            }
            guest.next = b as usize;
        }
    }
}

/// The rows of a matrix after the swaps that pivots stand for.
fn swapped(before: &Columns, columns: u32, pivots: &[u32]) -> Vec<f64> {
    let mut rows: Vec<u32> = (0..before.rows).collect();
    for (step, &pivot) in pivots.iter().enumerate() {
        assert!(pivot as usize > step && pivot <= before.rows, "pivot {pivot} of step {step}");
        rows.swap(step, pivot as usize - 1);
    }
    pairs(before.rows, columns).map(|(row, column)| before.at(rows[row as usize], column)).collect()
}

/// Factorises; the matrix after that, the pivots, and the first step whose pivot is zero.
fn factorised(guest: &mut Guest, m: u32, n: u32, a: u32) -> (Columns, Vec<u32>, u32) {
    let pivots = guest.put(&vec![0.0; m.min(n) as usize]);
    let info = guest.put(&[f64::NAN]);
    guest.call("brumate_dgetrf", &[m, n, a, m + 2, pivots, info]).expect("proper arguments");
    let word =
        |address: u32| u32::from_le_bytes(*guest.bytes[address as usize..].as_chunks().0.first().expect("inside"));
    let after = Columns { numbers: guest.get(a, ((m + 2) * n) as usize), rows: m };
    (after, (0..m.min(n)).map(|step| word(pivots + step * 4)).collect(), word(info))
}

#[test]
fn factors_multiply_to_the_matrix() {
    for (m, n) in [(1, 1), (5, 3), (3, 5), (16, 16), (17, 40), (31, 32), (70, 70), (100, 33), (33, 100), (101, 101)] {
        let mut guest = Guest::new();
        let (a, numbers) = guest.random(((m + 2) * n) as usize);
        let before = Columns { numbers, rows: m };
        let (after, pivots, info) = factorised(&mut guest, m, n, a);
        assert_eq!(info, 0);
        assert!(before.between(&after));
        let steps = m.min(n);
        assert!(pairs(m, steps).all(|(row, column)| row <= column || after.at(row, column).abs() <= 1.0));
        let product = |(row, column): (u32, u32)| -> f64 {
            let inner = steps.min(row.min(column) + 1);
            (0..inner)
                .map(|inner| if inner == row { 1.0 } else { after.at(row, inner) } * after.at(inner, column))
                .sum()
        };
        close(&pairs(m, n).map(product).collect::<Vec<_>>(), &swapped(&before, n, &pivots));
    }
}

#[test]
fn factors_of_what_has_none() {
    let mut guest = Guest::new();
    let (a, numbers) = guest.random(72 * 70);
    guest.next = a as usize;
    // The first column of zeros is told, and the others are factorised all the same.
    let zeros: Vec<f64> = numbers
        .iter()
        .enumerate()
        .map(|(place, &number)| if [40, 55].contains(&(place / 72)) { 0.0 } else { number })
        .collect();
    guest.put(&zeros);
    let before = Columns { numbers: zeros, rows: 70 };
    let (after, pivots, info) = factorised(&mut guest, 70, 70, a);
    assert_eq!(info, 41);
    assert!(after.numbers.iter().all(|number| number.is_finite()));
    swapped(&before, 70, &pivots);
    // What is no number stays none, and pivots are rows all the same.
    for nothing in [f64::NAN, f64::INFINITY] {
        let some: Vec<f64> = before
            .numbers
            .iter()
            .enumerate()
            .map(|(place, &number)| if place % 91 == 0 { nothing } else { number })
            .collect();
        guest.next = a as usize;
        guest.put(&some);
        let (after, pivots, _) = factorised(&mut guest, 70, 70, a);
        assert!(after.numbers.iter().any(|number| number.is_nan()));
        swapped(&before, 70, &pivots);
    }
    // The smallest numbers have no reciprocal.
    guest.next = a as usize;
    let tiny = guest.put(&[4e-310, 2e-310, 0.0, 0.0]);
    let (after, _, info) = factorised(&mut guest, 2, 1, tiny);
    assert_eq!((after.at(0, 0), after.at(1, 0), info), (4e-310, 0.5, 0));
}

#[test]
fn improper_triangles_change_nothing() {
    let mut guest = Guest::new();
    let (a, _) = guest.random(64);
    let (one, zero) = (guest.put(&[1.0]), guest.put(&[0.0]));
    let end = guest.bytes.len() as u32;
    let before = guest.bytes[1024..].to_vec();
    let proper = [0, 1, 0, 0, 4, 4, one, a, 4, a + 128, 4];
    let wrong = [
        (0, 2),
        (1, 2),
        (2, 2),
        (3, u32::MAX),
        (4, 0),
        (4, 5),
        (4, u32::MAX),
        (5, 0),
        (5, MAX_SIDE + 1),
        (6, zero),
        (6, end - 4),
        (7, end - 64),
        (7, a + 4),
        (8, 3),
        (8, u32::MAX),
        (9, end),
        (9, a + 132),
        (10, 3),
        (10, 1 << 30),
    ];
    for ((position, value), name) in
        wrong.into_iter().flat_map(|wrong| [(wrong, "brumate_dtrsm"), (wrong, "brumate_dtrmm")])
    {
        let mut words = proper;
        words[position] = value;
        assert_eq!(guest.call(name, &words), Err(Refused), "{name} {position} {value}");
    }
    let proper = [4, 4, a, 4, a + 256, a + 288];
    let wrong = [
        (0, 0),
        (0, 5),
        (1, 0),
        (1, u32::MAX),
        (2, end - 8),
        (2, a + 4),
        (3, 3),
        (3, u32::MAX),
        (4, end - 8),
        (5, end - 2),
    ];
    for (position, value) in wrong {
        let mut words = proper;
        words[position] = value;
        assert_eq!(guest.call("brumate_dgetrf", &words), Err(Refused), "{position} {value}");
    }
    assert!(guest.bytes[1024..] == before);
    // More work than one call may have, though the memory is there.
    let mut large = Guest { bytes: vec![0; 8 << 20], next: 1024, random: 1 };
    let words = |m, n| [m, n, 1 << 16, m, 1024, 16384];
    assert_eq!(large.call("brumate_dgetrf", &words(MAX_SIDE, MAX_SIDE)), Ok(()));
    assert_eq!(large.call("brumate_dgetrf", &words(MAX_SIDE + 1, MAX_SIDE)), Err(Refused));
    // Long though narrow.
    large.bytes.resize(16 << 20, 0);
    assert_eq!(large.call("brumate_dgetrf", &words(1, vector::MAX_VECTOR)), Ok(()));
    assert_eq!(large.call("brumate_dgetrf", &words(1, vector::MAX_VECTOR + 1)), Err(Refused));
    // Over each other: wrong numbers, and nothing else.
    guest.call("brumate_dtrsm", &[0, 1, 0, 0, 4, 4, one, a, 4, a + 8, 4]).expect("within memory");
    guest.call("brumate_dgetrf", &[4, 4, a, 4, a, a + 8]).expect("within memory");
}

#[test]
fn triangles_of_single_precision() {
    for side in [3u32, 16, 40, 75] {
        let mut guest = Guest::new();
        let stride = side + 1;
        let mut put = |numbers: &[f32]| {
            let address = guest.next;
            for (place, number) in guest.bytes[address..].as_chunks_mut().0.iter_mut().zip(numbers) {
                *place = number.to_le_bytes();
            }
            guest.next += numbers.len() * 4;
            address as u32
        };
        // The sums of rows of a matrix that is factorised: the solution is all ones.
        let mut numbers = vec![0.0f32; (stride * side) as usize];
        let mut sums = vec![0.0f32; side as usize];
        for (row, column) in pairs(side, side) {
            let number = ((row * 7 + column * 13) % 11) as f32 + if (row + 1) % side == column { 40.0 } else { 0.0 };
            numbers[(column * stride + row) as usize] = number;
            sums[row as usize] += number;
        }
        let (a, b, one) = (put(&numbers), put(&sums), put(&[1.0]));
        let (pivots, info) = (put(&vec![0.0; side as usize]), put(&[1.0]));
        guest.call("brumate_sgetrf", &[side, side, a, stride, pivots, info]).expect("proper arguments");
        for step in 0..side {
            let pivot = u32::from_le_bytes(guest.bytes[(pivots + step * 4) as usize..].as_chunks().0[0]);
            let (this, other) = ((b + step * 4) as usize, (b + (pivot - 1) * 4) as usize);
            for byte in 0..4 {
                guest.bytes.swap(this + byte, other + byte);
            }
        }
        guest.call("brumate_strsm", &[0, 1, 0, 1, side, 1, one, a, stride, b, side]).expect("proper arguments");
        guest.call("brumate_strsm", &[0, 0, 0, 0, side, 1, one, a, stride, b, side]).expect("proper arguments");
        for place in guest.bytes[b as usize..].as_chunks().0.iter().take(side as usize) {
            let found = f32::from_le_bytes(*place);
            assert!((found - 1.0).abs() < 2e-4, "{side}: {found}");
        }
        guest.call("brumate_strmm", &[0, 0, 0, 0, side, 1, one, a, stride, b, side]).expect("proper arguments");
        guest.call("brumate_strmm", &[0, 1, 0, 1, side, 1, one, a, stride, b, side]).expect("proper arguments");
        let mut found: Vec<f32> = guest.bytes[b as usize..]
            .as_chunks()
            .0
            .iter()
            .take(side as usize)
            .map(|place| f32::from_le_bytes(*place))
            .collect();
        found.sort_by(f32::total_cmp);
        sums.sort_by(f32::total_cmp);
        for (found, expected) in found.iter().zip(&sums) {
            assert!((found - expected).abs() < 0.05, "{side}: {found} {expected}");
        }
    }
}
