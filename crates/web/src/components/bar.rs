//! A bar of parts, such as the items of a loop that have completed, failed and are left.

use maud::{Markup, html};

use super::status::Tone;

/// Width of the drawing, in its own units.
const WIDTH: u64 = 100;

/// Draws parts of a total; the label says the same in words.
pub(crate) fn bar(total: u64, parts: &[(Tone, u64)], label: &str) -> Markup {
    let mut start = 0;
    let drawn: Vec<(Tone, u64, u64)> = parts
        .iter()
        .map(|(tone, count)| {
            let width = (count * WIDTH).checked_div(total).unwrap_or(0).min(WIDTH - start);
            start += width;
            (*tone, start - width, width)
        })
        .collect();
    html! {
        svg.bar viewBox={ "0 0 " (WIDTH) " 6" } preserveAspectRatio="none" role="img" aria-label=(label) {
            rect.rest x="0" y="0" width=(WIDTH) height="6" {}
            @for (tone, x, width) in drawn {
                rect class=(tone.class()) x=(x) y="0" width=(width) height="6" {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_side_by_side_and_within_the_total() {
        let drawn = bar(4, &[(Tone::Good, 1), (Tone::Bad, 3)], "x").into_string();
        assert!(drawn.contains("class=\"good\" x=\"0\" y=\"0\" width=\"25\""), "{drawn}");
        assert!(drawn.contains("class=\"bad\" x=\"25\" y=\"0\" width=\"75\""), "{drawn}");
        assert!(!bar(0, &[(Tone::Good, 0)], "x").into_string().contains("NaN"));
    }
}
