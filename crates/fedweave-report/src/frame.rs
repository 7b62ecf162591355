//! The frame a network is drawn in: 1000 wide, as high as the data ask for, y downwards.

use crate::layout::Point;

pub(crate) const WIDTH: f64 = 1000.0;
const MARGIN: f64 = 55.0;
/// The picture is never taller or flatter than this, whatever the data.
const ASPECT: (f64, f64) = (0.85, 1.75);

/// Where points of the plane (y upwards) go in the frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) height: f64,
    /// Frame units per unit of the plane.
    pub(crate) scale: f64,
    middle: Point,
}

impl Frame {
    /// The frame around some points; any frame if there are none.
    pub(crate) fn around(points: impl Iterator<Item = Point>) -> Self {
        let start = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        let (low, high) =
            points.fold(start, |(l, h), p| ([l[0].min(p[0]), l[1].min(p[1])], [h[0].max(p[0]), h[1].max(p[1])]));
        if low[0] > high[0] {
            return Frame { height: (WIDTH / ASPECT.1).round(), scale: 1.0, middle: [0.0; 2] };
        }
        let (width, tall) = ((high[0] - low[0]).max(1e-12), (high[1] - low[1]).max(1e-12));
        let ideal = 2.0 * MARGIN + (WIDTH - 2.0 * MARGIN) * tall / width;
        let height = ideal.clamp(WIDTH / ASPECT.1, WIDTH / ASPECT.0).round();
        let scale = ((WIDTH - 2.0 * MARGIN) / width).min((height - 2.0 * MARGIN) / tall);
        Frame { height, scale, middle: [0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1])] }
    }

    /// The place of a point.
    pub(crate) fn place(&self, point: Point) -> Point {
        let (x, y) = (self.scale * (point[0] - self.middle[0]), self.scale * (point[1] - self.middle[1]));
        [0.5 * WIDTH + x, 0.5 * self.height - y]
    }

    /// Whether a place is inside, or nearly.
    pub(crate) fn near(&self, [x, y]: Point) -> bool {
        (-WIDTH..2.0 * WIDTH).contains(&x) && (-self.height..2.0 * self.height).contains(&y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_fits() {
        for points in [vec![[0.0, 0.0]], vec![[0.0, 0.0], [1e6, 1.0]], vec![[3.0, -1e-3], [3.0, 1e-3]]] {
            let frame = Frame::around(points.iter().copied());
            for point in points {
                let [x, y] = frame.place(point);
                assert!((0.0..=WIDTH).contains(&x) && (0.0..=frame.height).contains(&y), "{x} {y}");
            }
        }
    }

    #[test]
    fn north_is_up() {
        let frame = Frame::around([[0.0, 0.0], [1.0, 1.0]].into_iter());
        assert!(frame.place([0.0, 1.0])[1] < frame.place([0.0, 0.0])[1]);
    }
}
