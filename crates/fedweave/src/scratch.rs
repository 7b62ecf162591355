//! Scratch space for parallel loops: one buffer per thread, made once, so that iterations do not allocate.

use std::sync::{Mutex, MutexGuard};

/// Buffers of `len` entries, one for every thread of the current pool and one for a caller outside it.
pub struct Scratch {
    buffers: Vec<Mutex<Vec<f64>>>,
}

impl Scratch {
    /// Buffers for the current thread pool.
    pub fn new(len: usize) -> Self {
        let threads = rayon::current_num_threads() + 1;
        Scratch { buffers: (0..threads).map(|_| Mutex::new(vec![0.0; len])).collect() }
    }

    /// This thread's buffer; never contended.
    pub fn lock(&self) -> MutexGuard<'_, Vec<f64>> {
        let slot = rayon::current_thread_index().map_or(0, |i| i + 1) % self.buffers.len();
        self.buffers[slot].lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
