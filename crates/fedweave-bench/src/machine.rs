//! What the machine says about itself; on systems without /proc, nothing.

use std::fs::read_to_string;

/// Processor, cores, memory and how busy they are, in one line.
pub fn facts() -> String {
    let model = field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = field("/proc/meminfo", "MemTotal").and_then(|text| kibibytes(&text));
    let memory = memory.map_or(String::new(), |k| format!(", {:.0} GiB memory", k / f64::from(1 << 20)));
    let load = read_to_string("/proc/loadavg").ok();
    let load = load.as_deref().and_then(|text| text.split_whitespace().next());
    let load = load.map_or(String::new(), |l| format!(", load average {l} at the start"));
    format!("{model}, {cores} cores{memory}{load}")
}

/// Largest memory this process has had since [`forget_peak`], in MiB.
pub fn peak_memory() -> Option<f64> {
    Some(kibibytes(&field("/proc/self/status", "VmHWM")?)? / 1024.0)
}

/// Lets [`peak_memory`] begin anew, where the system can.
pub fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Seconds of processor time this process has used, all threads together.
pub fn cpu_seconds() -> Option<f64> {
    /// Linux counts in hundredths of a second wherever programs can see it.
    const TICKS: f64 = 100.0;
    let text = read_to_string("/proc/self/stat").ok()?;
    // The name of the program may hold blanks; the fields after its bracket do not.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let (user, system): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) / TICKS)
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn kibibytes(text: &str) -> Option<f64> {
    text.trim_end_matches("kB").trim().parse().ok()
}
