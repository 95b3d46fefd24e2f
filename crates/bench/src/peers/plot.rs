//! Two kinds of plots as SVG: bars on a logarithmic scale, and lines on two. Colours follow the reader's choice of light
//! or dark.

use std::fmt::Write as _;

use super::table::{Growth, Series, figure};

const STYLE: &str = "<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328 } .title { font-weight: 600; font-size: 14px } .small { fill: #59636e; font-size: 11px }
.grid { stroke: #d1d9e0 } .other { fill: #9aa6b2 } .own { fill: #0969da } .line { fill: none; stroke-width: 2 } .ground { fill: #ffffff }
.line0 { stroke: #0969da } .line1 { stroke: #bc4c00 } .dot0 { fill: #0969da } .dot1 { fill: #bc4c00 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .small { fill: #9198a1 } .grid { stroke: #3d444d } .other { fill: #656c76 } .own { fill: #4493f8 } .ground { fill: #0d1117 }
.line0 { stroke: #4493f8 } .line1 { stroke: #f0883e } .dot0 { fill: #4493f8 } .dot1 { fill: #f0883e } }
</style>";

/// One bar.
pub(crate) struct Bar<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: f64,
    pub(crate) class: &'static str,
    /// What is to be known beside the number.
    pub(crate) note: String,
}

/// Bars on a logarithmic scale, in the order that they come in.
pub(crate) fn bars(title: &str, unit: &str, bars: &[Bar<'_>]) -> String {
    const LEFT: f64 = 170.0;
    const ROW: f64 = 24.0;
    const TOP: f64 = 40.0;
    // The smallest bar is to be seen, too.
    let ends = bars.iter().flat_map(|bar| [bar.value / 2.0, bar.value]);
    let scale = Scale::around(ends, LEFT, LEFT + 360.0);
    let mut bottom = TOP;
    let mut drawn = String::new();
    for bar in bars {
        let (name, note, class) = (escaped(bar.name), escaped(&bar.note), bar.class);
        let (end, middle) = (scale.place(bar.value), bottom + 16.0);
        let width = (end - LEFT).max(1.0);
        let _ = writeln!(
            drawn,
            "<text x=\"{:.0}\" y=\"{middle:.0}\" text-anchor=\"end\">{name}</text>\
             <rect class=\"{class}\" x=\"{LEFT}\" y=\"{:.0}\" width=\"{width:.1}\" height=\"16\" rx=\"2\"/>\
             <text x=\"{:.1}\" y=\"{middle:.0}\">{} {unit} <tspan class=\"small\">{note}</tspan></text>",
            LEFT - 8.0,
            bottom + 4.0,
            LEFT + width + 6.0,
            figure(bar.value),
        );
        bottom += ROW;
    }
    let mut grid = String::new();
    for (x, tick) in scale.ticks() {
        let _ = writeln!(
            grid,
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\"/>\
             <text class=\"small\" x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{tick}</text>",
            bottom + 16.0
        );
    }
    let _ = writeln!(
        grid,
        "<text class=\"small\" x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">log scale</text>",
        LEFT - 8.0,
        bottom + 16.0
    );
    drawing(title, 920.0, bottom + 26.0, &format!("{grid}{drawn}"))
}

/// Lines over two logarithmic scales.
pub(crate) fn lines(growth: &Growth) -> String {
    const LEFT: f64 = 70.0;
    const RIGHT: f64 = 600.0;
    const TOP: f64 = 64.0;
    const BOTTOM: f64 = 300.0;
    let points = || growth.series.iter().flat_map(|series| &series.points);
    let across = Scale::around(points().map(|point| point.0), LEFT, RIGHT);
    let up = Scale::around(points().map(|point| point.1), BOTTOM, TOP);
    let mut drawn = String::new();
    for (x, tick) in across.ticks() {
        let _ = writeln!(
            drawn,
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{BOTTOM}\"/>\
             <text class=\"small\" x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{tick}</text>",
            BOTTOM + 16.0
        );
    }
    for (y, tick) in up.ticks() {
        let _ = writeln!(
            drawn,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{RIGHT}\" y2=\"{y:.1}\"/>\
             <text class=\"small\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    for (number, series) in growth.series.iter().enumerate() {
        let beside = growth.series.iter().enumerate().find(|(other, _)| *other != number).map(|(_, series)| series);
        drawn += &line((number, series), beside, &across, &up);
    }
    let _ = writeln!(
        drawn,
        "<text class=\"small\" x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>\
         <text class=\"small\" x=\"12\" y=\"{:.0}\">{}</text>",
        f64::midpoint(LEFT, RIGHT),
        BOTTOM + 34.0,
        escaped(&format!("{} (log scale)", growth.across)),
        TOP - 10.0,
        escaped(&format!("{} (log scale)", growth.up))
    );
    drawing(&growth.title, 640.0, BOTTOM + 46.0, &drawn)
}

/// A line with its numbers, which keep out of the way of the line beside it and of the axis.
fn line((number, series): (usize, &Series), beside: Option<&Series>, across: &Scale, up: &Scale) -> String {
    let places: Vec<(f64, f64)> = series.points.iter().map(|(x, y)| (across.place(*x), up.place(*y))).collect();
    let path = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ");
    let mut drawn = format!("<polyline class=\"line line{number}\" points=\"{path}\"/>\n");
    for (index, ((x, y), (_, value))) in places.iter().zip(&series.points).enumerate() {
        let other = beside.and_then(|series| series.points.get(index)).map_or(0.0, |point| point.1);
        let label = if *value >= other { y - 8.0 } else { y + 18.0 };
        let anchor = if index == 0 { "start" } else { "middle" };
        let _ = writeln!(
            drawn,
            "<circle class=\"dot{number}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>\
             <text class=\"small\" x=\"{x:.1}\" y=\"{label:.1}\" text-anchor=\"{anchor}\">{}</text>",
            figure(*value)
        );
    }
    // Names stand in one line above the plot, each with the colour of its line.
    #[expect(clippy::cast_precision_loss, reason = "one of two")]
    let x = 110.0 + 250.0 * number as f64;
    let _ = writeln!(
        drawn,
        "<rect class=\"dot{number}\" x=\"{x:.0}\" y=\"38\" width=\"18\" height=\"4\"/><text x=\"{:.0}\" y=\"44\">{}</text>",
        x + 24.0,
        escaped(&series.name)
    );
    drawn
}

fn drawing(title: &str, width: f64, height: f64, inside: &str) -> String {
    let title = escaped(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n\
         <title>{title}</title>\n{STYLE}\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"title\" x=\"12\" y=\"22\">{title}</text>\n{inside}</svg>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('`', "")
}

/// Powers of ten, from one place to another.
struct Scale {
    low: i32,
    high: i32,
    from: f64,
    to: f64,
}

impl Scale {
    fn around(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| *value > 0.0) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        #[expect(clippy::cast_possible_truncation, reason = "exponents of what was measured")]
        let [low, high] = [low.log10().floor() as i32, high.log10().ceil() as i32];
        Self { low, high: high.max(low + 1), from, to }
    }

    fn place(&self, value: f64) -> f64 {
        let share = (value.max(1e-9).log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        (self.low..=self.high).map(|power| {
            let value = 10_f64.powi(power);
            let label = match power {
                6.. => format!("{} M", figure(value / 1e6).trim_end_matches(".00").trim_end_matches(".0")),
                3..6 => format!("{:.0} k", value / 1e3),
                0..3 => format!("{value:.0}"),
                _ => format!("{value}"),
            };
            (self.place(value), label)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Bar, Scale, bars, lines};
    use crate::peers::table::{Growth, Series};

    #[test]
    fn a_scale_is_whole_powers_of_ten() {
        let scale = Scale::around([3.0, 250.0].into_iter(), 0.0, 300.0);
        let ticks: Vec<(f64, String)> = scale.ticks().collect();
        assert_eq!(
            ticks,
            [(0.0, "1"), (100.0, "10"), (200.0, "100"), (300.0, "1 k")].map(|(x, it)| (x, it.to_owned()))
        );
        assert!((scale.place(10.0) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_written_into_a_plot_is_text() {
        let drawn = bars("a & b", "ms", &[Bar { name: "<one>", value: 2.0, class: "own", note: String::new() }]);
        assert!(drawn.contains("a &amp; b") && drawn.contains("&lt;one&gt;") && drawn.contains("2.00 ms"), "{drawn}");
    }

    #[test]
    fn every_point_of_a_line_is_drawn() {
        let series =
            Series { name: "one".to_owned(), points: vec![(1.0, 1.0), (10.0, 5.0), (100.0, 0.5)], stopped: None };
        let growth = Growth {
            key: "k".to_owned(),
            title: "t".to_owned(),
            across: "x".to_owned(),
            up: "y".to_owned(),
            series: vec![series],
            said: String::new(),
        };
        assert_eq!(lines(&growth).matches("<circle").count(), 3);
    }
}
