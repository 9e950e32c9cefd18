//! A flame graph: a call tree in which each function is as wide as its share of the samples.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::numbers::number;
use crate::plot::escaped;

const WIDTH: f64 = 1200.0;
const ROW: f64 = 17.0;
const TOP: f64 = 40.0;
/// The approximate width of a letter.
const LETTER: f64 = 6.6;
/// The minimum width of a drawn function.
const WIDTH_MIN: f64 = 0.4;
/// The maximum depth of drawn stacks.
const DEPTH_MAX: usize = 90;
const COLOURS: [&str; 5] = ["#f4a261", "#e9c46a", "#e76f51", "#f2b880", "#eab676"];

/// Samples as a call tree.
#[derive(Debug, Default)]
pub(super) struct CallTree {
    samples: u64,
    callees: BTreeMap<String, CallTree>,
}

impl CallTree {
    /// Counts a stack, from the outermost caller in.
    pub(super) fn add(&mut self, stack: &[impl AsRef<str>]) {
        let mut here = self;
        here.samples += 1;
        for function in stack.iter().take(DEPTH_MAX) {
            here = here.callees.entry(function.as_ref().to_owned()).or_default();
            here.samples += 1;
        }
    }

    fn depth(&self) -> u32 {
        self.callees.values().map(|callee| callee.depth() + 1).max().unwrap_or(0)
    }

    pub(super) fn to_svg(&self, title: &str) -> String {
        let height = TOP + ROW * f64::from(self.depth()) + 10.0;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"monospace\" font-size=\"11\">\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n\
             <text x=\"8\" y=\"24\" font-size=\"15\">{}, {} samples</text>\n",
            escaped(title),
            self.samples
        );
        self.draw(&mut svg, 0.0, height - ROW - 5.0, number(self.samples.max(1)));
        svg.push_str("</svg>\n");
        svg
    }

    /// Draws the callees of this function, side by side above it.
    fn draw(&self, svg: &mut String, mut x: f64, y: f64, all: f64) {
        for ((name, callee), colour) in self.callees.iter().zip(COLOURS.iter().cycle()) {
            let width = WIDTH * number(callee.samples) / all;
            if width >= WIDTH_MIN {
                let share = 100.0 * number(callee.samples) / all;
                writeln!(
                    svg,
                    "<g><title>{} ({share:.1} %)</title><rect x=\"{x:.1}\" y=\"{y:.1}\" \
                     width=\"{width:.1}\" height=\"{:.1}\" fill=\"{colour}\" stroke=\"white\" \
                     stroke-width=\"0.5\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
                    escaped(name),
                    ROW - 1.0,
                    x + 3.0,
                    y + 12.0,
                    escaped(&fitting(name, width))
                )
                .expect("strings grow");
                callee.draw(svg, x, y - ROW, all);
            }
            x += width;
        }
    }
}

/// Cuts a name to the available width.
fn fitting(name: &str, width: f64) -> String {
    let mut room = width - 6.0;
    name.chars()
        .take_while(|_| {
            room -= LETTER;
            room >= 0.0
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_as_wide_as_its_share_of_the_samples() {
        let mut flames = CallTree::default();
        flames.add(&["noetl", "decide"]);
        flames.add(&["noetl", "append<T>"]);
        flames.add(&["postgres"]);
        flames.add(&["postgres"]);
        let svg = flames.to_svg("chain");
        assert!(svg.contains("<title>noetl (50.0 %)</title><rect x=\"0.0\""), "{svg}");
        assert!(svg.contains("append&lt;T&gt; (25.0 %)"), "{svg}");
        assert_eq!(flames.depth(), 2);
    }

    #[test]
    fn names_are_cut_to_the_room_they_have() {
        assert_eq!(fitting("abcdef", 26.0), "abc");
        assert_eq!(fitting("abcdef", 2.0), "");
    }
}
