//! Renders a saved report again: `cargo run --release -p fedweave-report --example render -- report.json report.html`.

use fedweave_report::{Report, render};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(input), Some(output)) = (arguments.next(), arguments.next()) else {
        return Err("usage: render report.json report.html".into());
    };
    let report: Report = serde_json::from_str(&std::fs::read_to_string(input)?)?;
    std::fs::write(output, render(&report)?)?;
    Ok(())
}
