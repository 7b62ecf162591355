//! A figure on its own: panels of curves as one SVG file that needs nothing else.

use std::fmt::Write;

use crate::axis::Axis;

/// Panels side by side, with a title.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figure {
    /// What is shown.
    pub title: String,
    /// The panels, three in a row.
    pub panels: Vec<Panel>,
}

/// One pair of axes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panel {
    /// What is special here.
    pub title: String,
    /// Name of the horizontal axis.
    pub x_title: String,
    /// Name of the vertical axis.
    pub y_title: String,
    /// The horizontal axis is logarithmic.
    pub x_log: bool,
    /// The vertical axis is logarithmic.
    pub y_log: bool,
    /// The curves.
    pub curves: Vec<Curve>,
    /// Values of x worth a vertical line, with a label.
    pub marks: Vec<(f64, String)>,
}

/// One curve.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curve {
    /// Its name in the key.
    pub name: String,
    /// Points `(x, y)`; those without a place (a zero on a logarithmic axis) are left out.
    pub points: Vec<(f64, f64)>,
    /// Half the height of the bar at each point, or nothing.
    pub spread: Vec<f64>,
}

const PANELS_PER_ROW: usize = 3;
/// Size of a plot, and the room for titles and ticks around it, in pixels.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 210.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 54.0;
const BELOW: f64 = 48.0;
const KEY_LINE: f64 = 16.0;
const RIGHT: f64 = 16.0;
/// The colours of Okabe and Ito, made for colour-blind readers, and a few more.
const COLOURS: [&str; 10] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b4fa3", "#8c510a", "#01665e", "#6b6f76"];

impl Figure {
    /// The figure as an SVG document.
    pub fn svg(&self) -> String {
        let keys = self.panels.iter().map(|panel| panel.curves.len()).max().unwrap_or(0) as f64;
        let (across, down) = (LEFT + WIDTH + RIGHT, TOP + HEIGHT + BELOW + KEY_LINE * keys);
        let columns = self.panels.len().clamp(1, PANELS_PER_ROW);
        let rows = self.panels.len().div_ceil(PANELS_PER_ROW).max(1);
        let (width, height) = (across * columns as f64, 30.0 + down * rows as f64);
        let mut out = String::new();
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"system-ui, sans-serif\" font-size=\"11\" fill=\"#1b1d22\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        );
        text(&mut out, (12.0, 22.0), "start", "font-size=\"15\"", &self.title);
        for (k, panel) in self.panels.iter().enumerate() {
            let (column, row) = (k % PANELS_PER_ROW, k / PANELS_PER_ROW);
            let (x, y) = (LEFT + across * column as f64, 30.0 + TOP + down * row as f64);
            let _ = writeln!(out, "<g transform=\"translate({x} {y})\">");
            panel.draw(&mut out);
            out.push_str("</g>\n");
        }
        out.push_str("</svg>\n");
        out
    }
}

/// The axes of a panel, in pixels.
struct Frame {
    x: Axis,
    y: Axis,
}

impl Frame {
    fn x(&self, x: f64) -> Option<f64> {
        self.x.at(x).map(|at| at * WIDTH / 100.0)
    }

    fn y(&self, y: f64) -> Option<f64> {
        self.y.at(y).map(|at| HEIGHT * (1.0 - at / 100.0))
    }

    fn place(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        Some((self.x(x)?, self.y(y)?))
    }
}

impl Panel {
    fn frame(&self) -> Option<Frame> {
        let points = || self.curves.iter().flat_map(|curve| curve.points.iter().copied());
        let marks = self.marks.iter().map(|mark| mark.0);
        let xs = points().map(|p| p.0).chain(marks);
        let ys = points().map(|p| p.1);
        let x = if self.x_log { Axis::log(xs, 0.03) } else { Axis::linear(xs, 0.03) };
        let y = if self.y_log { Axis::log(ys, 0.06) } else { Axis::linear(ys, 0.06) };
        Some(Frame { x: x?, y: y? })
    }

    fn draw(&self, out: &mut String) {
        text(out, (0.0, -28.0), "start", "font-weight=\"600\"", &self.title);
        text(out, (-LEFT + 8.0, -10.0), "start", "fill=\"#5b5f68\"", &self.y_title);
        text(out, (WIDTH, HEIGHT + 34.0), "end", "fill=\"#5b5f68\"", &self.x_title);
        let Some(frame) = self.frame() else {
            return text(out, (WIDTH / 2.0, HEIGHT / 2.0), "middle", "", "nothing to draw");
        };
        for tick in frame.y.ticks(6) {
            let y = HEIGHT * (1.0 - tick.at / 100.0);
            let _ = writeln!(out, "<path d=\"M0 {y:.1}H{WIDTH}\" stroke=\"#e8e5df\"/>");
            text(out, (-6.0, y + 4.0), "end", "", &tick.label);
        }
        for tick in frame.x.ticks(6) {
            text(out, (tick.at * WIDTH / 100.0, HEIGHT + 16.0), "middle", "", &tick.label);
        }
        let _ = writeln!(out, "<path d=\"M0 {HEIGHT}H{WIDTH}\" stroke=\"#5b5f68\"/>");
        for (k, (x, label)) in self.marks.iter().enumerate() {
            let Some(x) = frame.x(*x) else { continue };
            let _ = writeln!(out, "<path d=\"M{x:.1} 0V{HEIGHT}\" stroke=\"#6b6f76\" stroke-dasharray=\"4 3\"/>");
            text(out, (x + 3.0, 10.0 + 12.0 * (k % 4) as f64), "start", "fill=\"#5b5f68\"", label);
        }
        for (k, curve) in self.curves.iter().enumerate() {
            curve.draw(out, &frame, COLOURS[k % COLOURS.len()], HEIGHT + BELOW + KEY_LINE * k as f64);
        }
    }
}

impl Curve {
    fn draw(&self, out: &mut String, frame: &Frame, colour: &str, key_y: f64) {
        let mut line = String::new();
        for (x, y) in self.points.iter().filter_map(|&point| frame.place(point)) {
            let _ = write!(line, "{}{x:.1} {y:.1}", if line.is_empty() { 'M' } else { 'L' });
        }
        let _ = writeln!(out, "<path d=\"{line}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"/>");
        for (k, &point) in self.points.iter().enumerate() {
            let Some((x, y)) = frame.place(point) else { continue };
            if self.points.len() <= 40 {
                let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.4\" fill=\"{colour}\"/>");
            }
            let Some(&spread) = self.spread.get(k) else { continue };
            // A bar that reaches below zero has no lower end on a logarithmic axis: it goes down to the plot's.
            let (high, low) = (frame.y(point.1 + spread), frame.y(point.1 - spread).unwrap_or(HEIGHT));
            let (high, low) = (high.unwrap_or(y).max(0.0), low.min(HEIGHT));
            let _ = writeln!(out, "<path d=\"M{x:.1} {high:.1}V{low:.1}\" stroke=\"{colour}\" opacity=\"0.5\"/>");
        }
        let _ = writeln!(out, "<path d=\"M0 {key_y}h18\" stroke=\"{colour}\" stroke-width=\"2.5\"/>");
        text(out, (24.0, key_y + 4.0), "start", "", &self.name);
    }
}

fn text(out: &mut String, (x, y): (f64, f64), anchor: &str, style: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {style}>{words}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(points: Vec<(f64, f64)>) -> Figure {
        let curve = Curve { name: "a < b".into(), points, spread: vec![] };
        let panel = Panel { curves: vec![curve], y_log: true, marks: vec![(2.0, "here".into())], ..Panel::default() };
        Figure { title: "t & u".into(), panels: vec![panel] }
    }

    #[test]
    fn text_is_escaped_and_nothing_is_fetched() {
        let svg = figure(vec![(1.0, 1.0), (3.0, 100.0)]).svg();
        assert!(svg.contains("t &amp; u") && svg.contains("a &lt; b") && svg.contains("here"));
        assert_eq!(svg.matches("http").count(), 1, "only the name space");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn points_without_a_place_are_left_out_and_empty_panels_say_so() {
        let svg = figure(vec![(1.0, 1.0), (2.0, 0.0), (3.0, 100.0)]).svg();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert!(figure(vec![(1.0, 0.0)]).svg().contains("nothing to draw"));
    }

    #[test]
    fn higher_values_are_drawn_higher() {
        let svg = figure(vec![(1.0, 1.0), (3.0, 100.0)]).svg();
        let cy: Vec<f64> =
            svg.split("cy=\"").skip(1).map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect();
        assert!(cy[1] < cy[0]);
    }
}
