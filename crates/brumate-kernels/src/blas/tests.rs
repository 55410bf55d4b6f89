//! Kernels against plain loops, and with what a hostile guest may pass.

mod triangles;

use super::matrix::MAX_SIDE;
use super::*;

/// A guest's memory of which the first part is arguments.
struct Guest {
    bytes: Vec<u8>,
    next: usize,
    random: u64,
}

impl Guest {
    fn new() -> Guest {
        // As a linear memory: at a page.
        Guest { bytes: vec![0; 1 << 20], next: 1024, random: 1 }
    }

    /// Numbers between -1 and 1, the same each time.
    fn number(&mut self) -> f64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Puts numbers behind the others; returns where.
    fn put(&mut self, numbers: &[f64]) -> u32 {
        let address = self.next;
        for (place, number) in self.bytes[address..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        self.next += numbers.len() * 8;
        address as u32
    }

    fn random(&mut self, count: usize) -> (u32, Vec<f64>) {
        let numbers: Vec<f64> = (0..count).map(|_| self.number()).collect();
        (self.put(&numbers), numbers)
    }

    fn get(&self, address: u32, count: usize) -> Vec<f64> {
        let numbers = self.bytes[address as usize..].as_chunks().0.iter();
        numbers.take(count).map(|bytes| f64::from_le_bytes(*bytes)).collect()
    }

    fn call(&mut self, name: &str, words: &[u32]) -> Result<(), Refused> {
        for (place, word) in self.bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let (_, kernel) = KERNELS.iter().find(|(known, _)| *known == name).expect("a kernel");
        kernel(GuestMemory::new(aligned(&mut self.bytes)), 0)
    }
}

/// The memory, at an address that all elements are aligned at.
fn aligned(bytes: &mut [u8]) -> &mut [u8] {
    assert!(bytes.as_ptr().addr().is_multiple_of(16));
    bytes
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{found} {expected}");
    }
}

#[test]
fn products_of_matrices() {
    let sizes = [1u32, 2, 3, 7, 16, 33];
    for (how_a, how_b) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        for (m, n, k) in sizes.iter().flat_map(|&m| sizes.iter().map(move |&n| (m, n, 40 - m))) {
            let mut guest = Guest::new();
            let (rows_a, columns_a) = if how_a == 0 { (m, k) } else { (k, m) };
            let (rows_b, columns_b) = if how_b == 0 { (k, n) } else { (n, k) };
            let (a, a_numbers) = guest.random(((rows_a + 2) * columns_a) as usize);
            let (b, b_numbers) = guest.random(((rows_b + 1) * columns_b) as usize);
            let (c, before) = guest.random(((m + 3) * n) as usize);
            let (alpha, beta) = (guest.put(&[1.5]), guest.put(&[-0.5]));
            let words = [how_a, how_b, m, n, k, alpha, a, rows_a + 2, b, rows_b + 1, beta, c, m + 3];
            guest.call("brumate_dgemm", &words).expect("proper arguments");
            let at = |numbers: &[f64], how: u32, stride: u32, row: u32, column: u32| {
                let (row, column) = if how == 0 { (row, column) } else { (column, row) };
                numbers[(column * stride + row) as usize]
            };
            let mut expected = before.clone();
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let terms = (0..k).map(|inner| {
                    at(&a_numbers, how_a, rows_a + 2, row, inner) * at(&b_numbers, how_b, rows_b + 1, inner, column)
                });
                let place = (column * (m + 3) + row) as usize;
                expected[place] = 1.5 * terms.sum::<f64>() - 0.5 * before[place];
            }
            // What lies between the columns is as it was.
            close(&guest.get(c, before.len()), &expected);
        }
    }
}

#[test]
fn complex_products_conjugate() {
    let mut guest = Guest::new();
    // (1 + 2i)* (3 - i) = (1 - 2i)(3 - i) = 1 - 7i
    let (a, b, c) = (guest.put(&[1.0, 2.0]), guest.put(&[3.0, -1.0]), guest.put(&[9.0, 9.0]));
    let (one, zero) = (guest.put(&[1.0, 0.0]), guest.put(&[0.0, 0.0]));
    for (how_a, how_b, expected) in
        [(0, 0, [5.0, 5.0]), (2, 0, [1.0, -7.0]), (3, 0, [1.0, -7.0]), (1, 3, [1.0, 7.0]), (3, 3, [5.0, -5.0])]
    {
        guest.call("brumate_zgemm", &[how_a, how_b, 1, 1, 1, one, a, 1, b, 1, zero, c, 1]).expect("proper arguments");
        assert_eq!(guest.get(c, 2), expected, "{how_a} {how_b}");
    }
    // A row of two times a column of two, with conjugates of a matrix whose columns are apart.
    let (a, _) = (guest.put(&[1.0, 1.0, 7.0, 7.0, 0.0, 2.0]), 0);
    let b = guest.put(&[1.0, 0.0, 1.0, 0.0]);
    guest.call("brumate_zgemm", &[2, 0, 1, 1, 2, one, a, 2, b, 2, zero, c, 1]).expect("proper arguments");
    assert_eq!(guest.get(c, 2), [1.0, -3.0]);
}

#[test]
fn products_of_a_matrix_and_a_vector() {
    for (m, n) in [(1, 1), (3, 5), (16, 4), (17, 9), (50, 33), (5, 64)] {
        for (transposed, step) in [(0u32, 1u32), (1, 1), (0, 3), (1, 2)] {
            let mut guest = Guest::new();
            let (a, numbers) = guest.random(((m + 2) * n) as usize);
            let (inputs, outputs) = if transposed == 0 { (n, m) } else { (m, n) };
            let (x, x_numbers) = guest.random((inputs * step) as usize);
            let (y, before) = guest.random((outputs * 2) as usize);
            let alpha = guest.put(&[0.25]);
            guest.call("brumate_dgemv", &[transposed, m, n, alpha, a, m + 2, x, step, y, 2]).expect("proper arguments");
            let mut expected = before.clone();
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let (from, to) = if transposed == 0 { (column, row) } else { (row, column) };
                let term = numbers[(column * (m + 2) + row) as usize] * x_numbers[(from * step) as usize];
                expected[(to * 2) as usize] += 0.25 * term;
            }
            close(&guest.get(y, before.len()), &expected);
        }
    }
}

#[test]
fn products_of_a_symmetric_matrix_look_at_one_half() {
    for n in [1u32, 3, 4, 8, 21, 50] {
        for lower in [0u32, 1] {
            let mut guest = Guest::new();
            let (a, mut numbers) = guest.random((n * n) as usize);
            let (x, x_numbers) = guest.random(n as usize);
            let (y, mut expected) = guest.random(n as usize);
            let alpha = guest.put(&[2.0]);
            guest.call("brumate_dsymv", &[lower, n, alpha, a, n, x, 1, y, 1]).expect("proper arguments");
            for (row, column) in (0..n).flat_map(|row| (0..n).map(move |column| (row, column))) {
                if (row > column) != (lower == 1) && row != column {
                    numbers[(column * n + row) as usize] = numbers[(row * n + column) as usize];
                }
            }
            for (row, column) in (0..n).flat_map(|row| (0..n).map(move |column| (row, column))) {
                expected[row as usize] += 2.0 * numbers[(column * n + row) as usize] * x_numbers[column as usize];
            }
            close(&guest.get(y, n as usize), &expected);
        }
    }
}

#[test]
fn single_precision() {
    let mut guest = Guest::new();
    let floats = |guest: &mut Guest, numbers: &[f32]| {
        let pairs: Vec<f64> = numbers
            .chunks(2)
            .map(|pair| f64::from_bits(u64::from(pair[0].to_bits()) | u64::from(pair[1].to_bits()) << 32))
            .collect();
        guest.put(&pairs)
    };
    let a = floats(&mut guest, &[1.0, 2.0, 3.0, 4.0]);
    let x = floats(&mut guest, &[1.0, 10.0]);
    let y = floats(&mut guest, &[0.5, 0.5]);
    let one = floats(&mut guest, &[1.0, 0.0]);
    guest.call("brumate_sgemv", &[0, 2, 2, one, a, 2, x, 1, y, 1]).expect("proper arguments");
    let result = |guest: &Guest, address: u32| {
        let bytes = guest.bytes[address as usize..].as_chunks::<4>().0;
        [f32::from_le_bytes(bytes[0]), f32::from_le_bytes(bytes[1])]
    };
    assert_eq!(result(&guest, y), [31.5, 42.5]);
    guest.call("brumate_ssymv", &[1, 2, one, a, 2, x, 1, y, 1]).expect("proper arguments");
    assert_eq!(result(&guest, y), [31.5 + 21.0, 42.5 + 42.0]);
    guest.call("brumate_sgemm", &[0, 0, 2, 1, 2, one, a, 2, x, 2, one, y, 2]).expect("proper arguments");
    assert_eq!(result(&guest, y), [52.5 + 31.0, 84.5 + 42.0]);
    // (1 + 2i)(1 + 10i) = -19 + 12i
    guest.call("brumate_cgemm", &[0, 0, 1, 1, 1, one, a, 1, x, 1, one, y, 1]).expect("proper arguments");
    assert_eq!(result(&guest, y), [83.5 - 19.0, 126.5 + 12.0]);
}

/// Sizes that leave each number of elements over in vectors of up to 16.
#[test]
fn vectors_of_single_precision() {
    for n in (1u32..=37).chain([64, 101]) {
        let mut guest = Guest::new();
        let mut random = |count: u32| {
            let numbers: Vec<f32> = (0..count).map(|_| guest.number() as f32).collect();
            let address = guest.next as u32;
            for (place, number) in guest.bytes[address as usize..].as_chunks_mut().0.iter_mut().zip(&numbers) {
                *place = number.to_le_bytes();
            }
            guest.next += numbers.len() * 4;
            (address, numbers)
        };
        let stride = n + 3;
        let ((a, numbers), (x, x_numbers), (factor, alpha)) = (random(stride * n), random(n), random(1));
        let targets: Vec<_> = (0..4).map(|_| random(n)).collect();
        let calls = [("brumate_sgemv", 0u32), ("brumate_sgemv", 1), ("brumate_ssymv", 0), ("brumate_ssymv", 1)];
        for ((name, how), (y, mut expected)) in calls.into_iter().zip(targets) {
            let all = [how, n, n, factor, a, stride, x, 1, y, 1];
            let (words, symmetric) =
                if name == "brumate_sgemv" { (all.to_vec(), false) } else { ([&all[..1], &all[2..]].concat(), true) };
            guest.call(name, &words).expect("proper arguments");
            for row in 0..n {
                let terms = (0..n).map(|column| {
                    let swap = if symmetric { (row > column) != (how == 1) } else { how == 1 };
                    let (of_row, of_column) = if swap { (column, row) } else { (row, column) };
                    f64::from(numbers[(of_column * stride + of_row) as usize]) * f64::from(x_numbers[column as usize])
                });
                let sum = f64::from(alpha[0]) * terms.sum::<f64>();
                expected[row as usize] = (f64::from(expected[row as usize]) + sum) as f32;
            }
            for (found, expected) in guest.bytes[y as usize..].as_chunks().0.iter().zip(expected) {
                let found = f32::from_le_bytes(*found);
                assert!((found - expected).abs() <= 2e-5, "{name} {how} {n}: {found} {expected}");
            }
        }
    }
}

/// The result lies over an operand, wholly or by a part: numbers are wrong then, and no other memory is touched.
#[test]
fn a_result_that_is_laid_over_its_operands_stays_in_its_place() {
    const SIDE: u32 = 24;
    let elements = (SIDE * SIDE) as usize;
    for (name, size) in [("brumate_sgemm", 4), ("brumate_dgemm", 8), ("brumate_cgemm", 8), ("brumate_zgemm", 16)] {
        let mut guest = Guest::new();
        let one = if name == "brumate_sgemm" || name == "brumate_cgemm" {
            guest.put(&[f64::from_bits(u64::from(1f32.to_bits())), 0.0])
        } else {
            guest.put(&[1.0, 0.0])
        };
        let (a, _) = guest.random(2 * elements);
        let (b, _) = guest.random(2 * elements);
        for first in [a, b] {
            for shift in [0, size, 5 * size, SIDE * size] {
                let before = guest.bytes.clone();
                let c = first + shift;
                let words = [1, 0, SIDE, SIDE, SIDE, one, a, SIDE, b, SIDE, one, c, SIDE];
                guest.call(name, &words).expect("proper arguments");
                let result = c as usize..(c + SIDE * SIDE * size) as usize;
                assert_ne!(guest.bytes[result.clone()], before[result.clone()], "{name} {shift}");
                assert_eq!(guest.bytes[1024..result.start], before[1024..result.start], "{name} {shift}");
                assert_eq!(guest.bytes[result.end..], before[result.end..], "{name} {shift}");
            }
        }
    }
}

#[test]
fn improper_arguments_change_nothing() {
    let mut guest = Guest::new();
    let (a, _) = guest.random(64);
    let one = guest.put(&[1.0]);
    let zero = guest.put(&[0.0]);
    let end = guest.bytes.len() as u32;
    let gemm = [0, 0, 4, 4, 4, one, a, 4, a + 128, 4, one, a + 256, 4];
    let wrong = [
        (0, 4),
        (1, 9),
        (2, MAX_SIDE + 1),
        (2, u32::MAX),
        (3, u32::MAX),
        (4, MAX_SIDE + 1),
        (2, 0),
        (4, 0),
        (5, end),
        (5, zero),
        (6, end - 8),
        (6, a + 4),
        (6, u32::MAX),
        (7, 3),
        (7, u32::MAX),
        (9, 0),
        (10, end - 7),
        (11, end - 120),
        (11, a + 1),
        (12, 3),
        (12, 1 << 30),
    ];
    let before = guest.bytes[1024..].to_vec();
    for (position, value) in wrong {
        let mut words = gemm;
        words[position] = value;
        assert_eq!(guest.call("brumate_dgemm", &words), Err(Refused), "{position} {value}");
    }
    let gemv = [0, 4, 4, one, a, 4, a + 128, 1, a + 256, 1];
    let wrong = [
        (0, 2),
        (1, u32::MAX),
        (1, 0),
        (2, 0),
        (2, u32::MAX),
        (3, end),
        (4, end),
        (5, 3),
        (5, u32::MAX),
        (6, end),
        (7, 0),
        (7, u32::MAX),
        (8, end - 8),
        (9, 0),
        (9, 1 << 29),
        // Not aligned.
        (3, one + 4),
        (4, a + 1),
        (6, a + 132),
        (8, a + 260),
    ];
    for (position, value) in wrong {
        let mut words = gemv;
        words[position] = value;
        assert_eq!(guest.call("brumate_dgemv", &words), Err(Refused), "{position} {value}");
    }
    // Too long for a copy, though the memory has it.
    let mut long = Guest { bytes: vec![0; 16 << 20], next: 1024, random: 1 };
    let one_more = vector::MAX_VECTOR + 1;
    let (factor, row) = (long.put(&[1.0]), long.put(&[0.0]));
    let words = |n| [0, 1, n, factor, 2048, 1, 2048, 1, row, 1];
    assert_eq!(long.call("brumate_dgemv", &words(one_more - 1)), Ok(()));
    assert_eq!(long.call("brumate_dgemv", &words(one_more)), Err(Refused));
    for (position, value) in [(1, 0), (1, u32::MAX), (3, a + 4), (4, 3), (5, end), (6, 0), (7, end), (8, 0)] {
        let mut words = [1, 4, one, a, 4, a + 128, 1, a + 256, 1];
        words[position] = value;
        assert_eq!(guest.call("brumate_dsymv", &words), Err(Refused), "{position} {value}");
    }
    assert!(guest.bytes[1024..] == before);
    // The block itself.
    for block in [end, end - 8, u32::MAX] {
        let memory = GuestMemory::new(&mut guest.bytes);
        assert_eq!(matrix::product::<f64>(memory, block), Err(Refused));
    }
    // Over each other: wrong numbers, and nothing else.
    guest.call("brumate_dgemm", &[0, 0, 4, 4, 4, one, a, 4, a + 8, 4, one, a + 16, 4]).expect("within memory");
    guest.call("brumate_dgemv", &[0, 4, 4, one, a, 4, a + 8, 1, a + 16, 1]).expect("within memory");
    guest.call("brumate_dsymv", &[1, 4, one, a, 4, a + 256, 1, a + 264, 1]).expect("within memory");
}
