//! Loops over nodes and edges on all cores, with results that do not depend on the number of threads: work is cut into
//! blocks of fixed size, and sums are taken inside blocks, then over blocks in order.

use rayon::prelude::*;

/// Rows of one block.
pub const BLOCK: usize = 128;

/// Below this many numbers, waking other threads costs more than it brings ...
pub const ASLEEP: usize = 1 << 17;
/// ... unless a loop like this one has just ended, and they are still awake.
pub const AWAKE: usize = 1 << 13;

/// Calls `f(first row, rows)` for every block of rows of length `d`. Here and below, `cost` is what a row costs, in numbers
/// read.
pub fn for_blocks(rows: &mut [f64], d: usize, f: impl Fn(usize, &mut [f64]) + Sync) {
    for_blocks_from(ASLEEP, rows, d, f);
}

/// The same on all cores from so many numbers on.
pub fn for_blocks_from(many: usize, rows: &mut [f64], d: usize, f: impl Fn(usize, &mut [f64]) + Sync) {
    if rows.len() < many {
        rows.chunks_mut(BLOCK * d).enumerate().for_each(|(b, rows)| f(b * BLOCK, rows));
    } else {
        rows.par_chunks_mut(BLOCK * d).enumerate().for_each(|(b, rows)| f(b * BLOCK, rows));
    }
}

/// Like [`for_blocks_from`], over two tables of the same shape.
pub fn for_blocks2(
    many: usize,
    first: &mut [f64],
    second: &mut [f64],
    d: usize,
    cost: usize,
    f: impl Fn(usize, &mut [f64], &mut [f64]) + Sync,
) {
    if first.len() / d * cost < many {
        let pairs = first.chunks_mut(BLOCK * d).zip(second.chunks_mut(BLOCK * d));
        pairs.enumerate().for_each(|(b, (x, y))| f(b * BLOCK, x, y));
    } else {
        let pairs = first.par_chunks_mut(BLOCK * d).zip(second.par_chunks_mut(BLOCK * d));
        pairs.enumerate().for_each(|(b, (x, y))| f(b * BLOCK, x, y));
    }
}

/// Calls `f(first row, rows of every table)` for every block and adds up what it returns, in the order of the blocks. All
/// tables have rows of length `d` and the same number of them.
pub fn sum_over_blocks<const N: usize>(
    tables: [&mut [f64]; N],
    d: usize,
    cost: usize,
    f: impl Fn(usize, [&mut [f64]; N]) -> f64 + Sync,
) -> f64 {
    let len = tables.iter().map(|t| t.len()).max().unwrap_or(0);
    let mut rest = tables;
    let mut blocks = Vec::with_capacity(len.div_ceil(BLOCK * d));
    while rest.iter().any(|t| !t.is_empty()) {
        let cut = rest.each_mut().map(|t| {
            let len = (BLOCK * d).min(t.len());
            let (block, tail) = std::mem::take(t).split_at_mut(len);
            *t = tail;
            block
        });
        blocks.push((blocks.len() * BLOCK, cut, 0.0));
    }
    if len / d * cost < ASLEEP {
        return blocks.into_iter().fold(0.0, |sum, (start, cut, _)| sum + f(start, cut));
    }
    blocks.par_iter_mut().for_each(|(start, cut, sum)| *sum = f(*start, cut.each_mut().map(|t| &mut **t)));
    blocks.iter().fold(0.0, |sum, block| sum + block.2)
}

/// Room for `n` pieces of different lengths, one after another: where each starts, and the room.
pub fn arena(n: usize, len: impl Fn(usize) -> usize) -> (Vec<usize>, Vec<f64>) {
    let mut offsets = vec![0];
    (0..n).for_each(|k| offsets.push(offsets[k] + len(k)));
    let room = vec![0.0; offsets[n]];
    (offsets, room)
}

/// Calls `f(k, piece k)` for every piece of an [`arena`].
pub fn for_pieces(offsets: &[usize], room: &mut [f64], f: impl Fn(usize, &mut [f64]) + Sync) {
    let (mut rest, mut pieces) = (room, Vec::with_capacity(offsets.len() - 1));
    for pair in offsets.windows(2) {
        let (piece, tail) = rest.split_at_mut(pair[1] - pair[0]);
        pieces.push(piece);
        rest = tail;
    }
    pieces.into_par_iter().enumerate().with_min_len(BLOCK).for_each(|(k, piece)| f(k, piece));
}

/// `f(0), f(1), ..., f(n - 1)`, computed on all cores.
pub fn ordered_map<T: Send>(n: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    (0..n).into_par_iter().with_min_len(BLOCK).map(&f).collect()
}

/// `sum_{k < n} f(k)`, where each term costs about `cost` operations.
pub fn ordered_sum(n: usize, cost: usize, f: impl Fn(usize) -> f64 + Sync) -> f64 {
    ordered_fold(n, cost, 0.0, f, |a, b| a + b)
}

/// `f(0), ..., f(n - 1)` combined, first inside blocks, then over blocks in order.
pub fn ordered_fold(
    n: usize,
    cost: usize,
    start: f64,
    f: impl Fn(usize) -> f64 + Sync,
    combine: impl Fn(f64, f64) -> f64 + Sync,
) -> f64 {
    let block = |b: usize| (b * BLOCK..((b + 1) * BLOCK).min(n)).map(&f).fold(start, &combine);
    let blocks = n.div_ceil(BLOCK);
    if n * cost < ASLEEP {
        return (0..blocks).map(block).fold(start, &combine);
    }
    let parts: Vec<f64> = (0..blocks).into_par_iter().map(block).collect();
    parts.into_iter().fold(start, &combine)
}
