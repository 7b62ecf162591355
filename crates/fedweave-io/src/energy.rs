//! What work costs: processor time as the kernel counts it, and energy where the machine measures it.

use std::path::PathBuf;

/// Counters, read when the work began.
pub struct Meter {
    cpu: Option<f64>,
    packages: Vec<(PathBuf, u64)>,
}

/// What was used since.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Used {
    /// Seconds of processor time of this process; `None` where the kernel does not tell (only Linux does, here).
    pub cpu_seconds: Option<f64>,
    /// Joules of all processor packages, whoever used them; `None` where they are not measured or not readable.
    pub joules: Option<f64>,
}

impl Meter {
    /// Work begins.
    pub fn start() -> Meter {
        let packages = packages().into_iter().filter_map(|path| Some((path.clone(), number(&path.join("energy_uj"))?)));
        Meter { packages: packages.collect(), cpu: cpu_seconds() }
    }

    /// What was used until now.
    pub fn read(&self) -> Used {
        let cpu_seconds = self.cpu.zip(cpu_seconds()).map(|(then, now)| (now - then).max(0.0));
        let of = |(path, then): &(PathBuf, u64)| {
            let now = number(&path.join("energy_uj"))?;
            // The counter starts again at its range.
            let turned = if now < *then { number(&path.join("max_energy_range_uj"))? } else { 0 };
            Some((now + turned - then) as f64 * 1e-6)
        };
        let joules: Option<f64> = self.packages.iter().map(of).sum();
        Used { cpu_seconds, joules: joules.filter(|_| !self.packages.is_empty()) }
    }
}

/// Processor time of all threads that are alive, in nanoseconds where the kernel counts them, else in ticks.
fn cpu_seconds() -> Option<f64> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?.flatten();
    let of = |path: PathBuf| {
        let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    let nanoseconds: u64 = threads.filter_map(|thread| of(thread.path())).sum();
    match nanoseconds {
        0 => ticks(),
        found => Some(found as f64 * 1e-9),
    }
}

/// Ticks of a hundredth of a second, of the process.
fn ticks() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program may hold anything but ends with the last parenthesis; utime and stime are fields 14 and 15.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |k: usize| fields.get(k)?.parse::<u64>().ok();
    Some((field(11)? + field(12)?) as f64 * 0.01)
}

/// Folders of processor packages that count energy.
fn packages() -> Vec<PathBuf> {
    let all = std::fs::read_dir("/sys/class/powercap").into_iter().flatten().flatten().map(|entry| entry.path());
    let package = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // Parts of a package have a second colon.
        name.starts_with("intel-rapl:") && name.matches(':').count() == 1
    };
    let mut found: Vec<PathBuf> = all.filter(package).collect();
    found.sort();
    found
}

fn number(path: &std::path::Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_costs_processor_time() {
        let meter = Meter::start();
        let started = std::time::Instant::now();
        let mut sum = 0.0f64;
        while started.elapsed().as_millis() < 60 {
            sum += (0..10_000).map(|k| f64::from(k).sqrt()).sum::<f64>();
        }
        assert!(sum > 0.0);
        let used = meter.read().cpu_seconds;
        assert!(used.is_some() || !cfg!(target_os = "linux"));
        // Other tests of this process may run beside it.
        assert!(used.is_none_or(|seconds| seconds > 0.001 && seconds < 100.0), "{used:?}");
    }
}
