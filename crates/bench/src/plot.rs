//! Plots as SVG, for documents that show how a cost grows.

use std::fmt::Write as _;

use crate::sheet::ShortNumber;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 52.0;
const TICKS: u32 = 5;
/// Colours that are distinct also for colour-blind readers.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// A plot of lines over one axis, starting at zero.
#[derive(Debug)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
    pub(crate) shape: PlotStyle,
    pub(crate) lines: Vec<PlotLine>,
}

/// The placement of values along the axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlotStyle {
    /// Lines, with values placed by their numbers.
    Lines,
    /// Bars next to each other, each with its own name.
    Bars(&'static [&'static str]),
}

#[derive(Debug)]
pub(crate) struct PlotLine {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

impl Plot {
    pub(crate) fn to_svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let most = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(0.0, f64::max);
        let (x_max, y_max) = (most(|point| point.0), ceiling(most(|point| point.1)));
        let frame = PlotScale { x_max: x_max.max(f64::MIN_POSITIVE), y_max };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}</text>\n",
            escaped(&self.title)
        );
        self.axes(&mut svg, &frame);
        match self.shape {
            PlotStyle::Lines => self.draw_lines(&mut svg, &frame),
            PlotStyle::Bars(names) => self.draw_bars(&mut svg, &frame, names),
        }
        self.legend(&mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    fn axes(&self, svg: &mut String, frame: &PlotScale) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for tick in 0..=TICKS {
            let value = frame.y_max * f64::from(tick) / f64::from(TICKS);
            let y = frame.y(value);
            add(
                svg,
                format_args!(
                    "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                    LEFT - 6.0,
                    y + 4.0,
                    ShortNumber(value)
                ),
            );
        }
        if self.shape == PlotStyle::Lines {
            for tick in 0..=TICKS {
                let value = frame.x_max * f64::from(tick) / f64::from(TICKS);
                add(
                    svg,
                    format_args!(
                        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
                        frame.x(value),
                        bottom + 18.0,
                        ShortNumber(value)
                    ),
                );
            }
        }
        add(
            svg,
            format_args!(
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                f64::midpoint(LEFT, right),
                bottom + 38.0,
                escaped(self.x),
                f64::midpoint(TOP, bottom),
                escaped(self.y)
            ),
        );
    }

    fn draw_lines(&self, svg: &mut String, frame: &PlotScale) {
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            let mut path = String::new();
            for (x, y) in &line.points {
                add(&mut path, format_args!("{:.1},{:.1} ", frame.x(*x), frame.y(*y)));
            }
            add(
                svg,
                format_args!(
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
                    path.trim_end()
                ),
            );
        }
    }

    fn draw_bars(&self, svg: &mut String, frame: &PlotScale, names: &[&str]) {
        let group = (WIDTH - RIGHT - LEFT) / crate::numbers::len(names);
        let bar = group * 0.8 / crate::numbers::len(&self.lines);
        for (place, name) in (0u32..).zip(names) {
            let begin = LEFT + group * (f64::from(place) + 0.1);
            add(
                svg,
                format_args!(
                    "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
                    begin + group * 0.4,
                    HEIGHT - BOTTOM + 18.0,
                    escaped(name)
                ),
            );
            for ((index, line), colour) in (0u32..).zip(&self.lines).zip(COLOURS.iter().cycle()) {
                let at = line.points.iter().find(|(x, _)| (*x - f64::from(place)).abs() < 0.5);
                let Some((_, value)) = at else { continue };
                let (x, y) = (begin + bar * f64::from(index), frame.y(*value));
                add(
                    svg,
                    format_args!(
                        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{bar:.1}\" height=\"{:.1}\" \
                     fill=\"{colour}\"/>\
                     <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"10\">{}</text>\n",
                        HEIGHT - BOTTOM - y,
                        x + bar / 2.0,
                        y - 4.0,
                        ShortNumber(*value)
                    ),
                );
            }
        }
    }

    fn legend(&self, svg: &mut String) {
        let x = WIDTH - RIGHT + 14.0;
        for ((place, line), colour) in (0u32..).zip(&self.lines).zip(COLOURS.iter().cycle()) {
            let y = TOP + 10.0 + 20.0 * f64::from(place);
            add(
                svg,
                format_args!(
                    "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
                 <text x=\"{:.1}\" y=\"{y:.1}\">{}</text>\n",
                    y - 10.0,
                    x + 18.0,
                    escaped(&line.name)
                ),
            );
        }
    }
}

/// The mapping of values to coordinates.
struct PlotScale {
    x_max: f64,
    y_max: f64,
}

impl PlotScale {
    fn x(&self, value: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * value / self.x_max
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / self.y_max
    }
}

/// Returns the next round number, with space for the label above the highest value.
fn ceiling(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let wanted = value * 1.08;
    let unit = 10f64.powf(wanted.log10().floor());
    let step = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0].into_iter();
    step.map(|step| step * unit).find(|round| *round >= wanted).unwrap_or(10.0 * unit)
}

fn add(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("strings grow");
}

/// Escapes a text for XML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(shape: PlotStyle) -> String {
        let points = vec![(0.0, 10.0), (1.0, 5.0)];
        let lines = vec![PlotLine { name: "a < b".to_owned(), points }];
        Plot { title: "t".to_owned(), x: "steps", y: "us", shape, lines }.to_svg()
    }

    #[test]
    fn a_line_ends_at_the_edge_of_the_frame() {
        let svg = plot(PlotStyle::Lines);
        assert!(svg.contains("points=\"78.0,116.0 570.0,192.0\""), "{svg}");
    }

    #[test]
    fn every_value_of_a_name_is_a_bar() {
        let svg = plot(PlotStyle::Bars(&["first", "last"]));
        assert_eq!(svg.matches("fill=\"#0072b2\"").count(), 3, "two bars and the legend: {svg}");
    }

    #[test]
    fn names_cannot_break_the_document() {
        assert!(plot(PlotStyle::Lines).contains("a &lt; b"));
    }

    #[test]
    fn axes_end_at_round_numbers() {
        assert_eq!(ceiling(10.0), 15.0);
        assert_eq!(ceiling(1.7), 2.0);
        assert_eq!(ceiling(0.0), 1.0);
    }
}
