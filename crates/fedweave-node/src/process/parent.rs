//! A process started by another one must not outlive it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Watches standard input, which ends with the process that holds its other end, however that ends.
#[derive(Debug, Clone, Default)]
pub struct ParentWatch {
    ended: Arc<AtomicBool>,
}

impl ParentWatch {
    /// Watches from now on.
    pub fn start() -> ParentWatch {
        let watch = ParentWatch::default();
        let ended = watch.ended.clone();
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            ended.store(true, Ordering::Relaxed);
        });
        watch
    }

    /// True once the parent is gone; never, if nobody watches.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}
