//! The few SVG elements that a picture of a plan is made of.

use std::fmt::Write;

/// Text and lines.
pub(super) const INK: &str = "#1d2733";
/// Text of less weight.
pub(super) const MUTED: &str = "#66727f";
/// Empty space of a chart.
pub(super) const PALE: &str = "#eef1f4";
/// Ops that stream weights.
pub(super) const STRONG: [&str; 7] = ["#2f6db5", "#e0803a", "#3f9a6b", "#7b5aa6", "#c8465a", "#b08a2e", "#3a9fb0"];
/// Ops that do not.
pub(super) const SOFT: [&str; 10] =
    ["#8fa3b8", "#d8b365", "#7cc0bd", "#b7a0cc", "#a3bf7f", "#d69a9a", "#a8a29a", "#54728c", "#8c6d4f", "#d9a9cf"];

/// Memory that belongs to no op.
pub(super) const GREYS: [&str; 2] = ["#5d6875", "#aab4bf"];

/// An SVG document under construction.
#[derive(Debug, Default)]
pub(super) struct Canvas(String);

impl Canvas {
    /// A filled rectangle.
    pub(super) fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, fill: &str, more: &str) {
        // Writing to a string can't fail.
        let _ = writeln!(self.0, "<rect x='{x:.2}' y='{y:.2}' width='{width:.2}' height='{height:.2}' fill='{fill}' {more}/>");
    }

    /// A path.
    pub(super) fn path(&mut self, path: &str, more: &str) {
        let _ = writeln!(self.0, "<path d='{path}' {more}/>");
    }

    /// A line of text, escaped.
    pub(super) fn text(&mut self, x: f64, y: f64, more: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(self.0, "<text x='{x:.1}' y='{y:.1}' {more}>{text}</text>");
    }

    /// The document, on a white ground.
    pub(super) fn finish(self, width: f64, height: f64) -> String {
        format!(
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0} {height:.0}' width='{width:.0}' height='{height:.0}' \
             font-family='Inter, Helvetica Neue, Helvetica, Arial, DejaVu Sans, sans-serif' fill='{INK}'>\n\
             <rect width='100%' height='100%' fill='#fff'/>\n{}</svg>\n",
            self.0
        )
    }
}
