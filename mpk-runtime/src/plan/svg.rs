//! A plan as a picture: one decode step on all workers of a rank, and the map of a worker's shared memory.

use std::fmt::Write;

use super::picture::{Canvas, GREYS, INK, MUTED, PALE, SOFT, STRONG};
use super::sections::{Section, bytes_by_worker, bytes_of, grouped, plural, sections, size, title};
use super::{Plan, Shared};
use crate::graph::OpId;

const WIDTH: f64 = 1280.0;
const MARGIN: f64 = 40.0;
/// The chart: its left edge, its upper edge, its width, and its height if there are many workers.
const LEFT: f64 = 84.0;
const TOP: f64 = 150.0;
const CHART: f64 = 972.0;
const HEIGHT: f64 = 350.0;
/// Width of the column of an op that streams nothing, and the space between columns and sections.
const THIN: f64 = 15.0;
const GAP: f64 = 3.0;
const SECTION_GAP: f64 = 16.0;
/// A column outside of the layers takes at most this share of the chart; a longer one is drawn with a break.
const MOST_OF_CHART: f64 = 0.2;
/// No smoothing: neighbouring rectangles meet without a seam.
const CRISP: &str = "shape-rendering='crispEdges'";

/// One op of the picture.
struct Column {
    op: OpId,
    /// Index into the legend.
    kind: usize,
    /// Bytes of each worker; empty if the op streams nothing.
    bytes: Vec<usize>,
    most: usize,
    x: f64,
    width: f64,
    broken: bool,
}

/// One entry of the legend.
struct Kind {
    title: String,
    op: OpId,
    color: &'static str,
}

impl Plan {
    /// The plan as an SVG document, 1280 units wide. Every rank does the same; the picture shows rank 0.
    pub fn svg(&self) -> String {
        let sections = sections(self);
        let (mut columns, kinds) = self.columns(&sections);
        let scale = place(&sections, &mut columns);
        let row = (HEIGHT / self.options.workers as f64).clamp(1.0, 22.0);
        let bottom = TOP + row * self.options.workers as f64;

        let mut canvas = Canvas::default();
        let bytes: usize = self.ops.iter().map(|op| op.weight_bytes).sum();
        canvas.text(MARGIN, 46.0, "font-size='23' font-weight='600'", &format!("One decode step of {}", self.graph.model));
        let tasks: usize = self.queues.iter().map(|queue| queue.tasks.len()).sum();
        let facts = format!("{} · {} ops, {} tasks, {} of weights", self.setting(), self.ops.len(), grouped(tasks), size(bytes));
        canvas.text(MARGIN, 70.0, &format!("font-size='13.5' fill='{MUTED}'"), &facts);
        self.draw_chart(&mut canvas, &sections, &columns, &kinds, row);
        self.draw_axes(&mut canvas, row, bottom, scale);
        self.draw_balance(&mut canvas, row);
        let legend = self.draw_legend(&mut canvas, &kinds, bottom + 74.0);
        let end = self.draw_shared(&mut canvas, &kinds, legend + 34.0);
        canvas.finish(WIDTH, end + 30.0)
    }

    fn columns(&self, sections: &[Section]) -> (Vec<Column>, Vec<Kind>) {
        let mut kinds: Vec<Kind> = Vec::new();
        let mut columns = Vec::new();
        let (mut strong, mut soft) = (STRONG.iter().cycle(), SOFT.iter().cycle());
        for op in sections.iter().flat_map(|section| &section.ops) {
            let streams = self.ops[*op].weight_bytes > 0;
            let name = title(self, *op);
            let kind = kinds.iter().position(|kind| kind.title == name).unwrap_or_else(|| {
                let color = if streams { strong.next() } else { soft.next() };
                kinds.push(Kind { title: name, op: *op, color: color.copied().unwrap_or(INK) });
                kinds.len() - 1
            });
            let bytes = if streams { bytes_of(self, *op) } else { Vec::new() };
            let most = bytes.iter().max().copied().unwrap_or(0);
            columns.push(Column { op: *op, kind, bytes, most, x: 0.0, width: THIN, broken: false });
        }
        (columns, kinds)
    }

    fn draw_chart(&self, canvas: &mut Canvas, sections: &[Section], columns: &[Column], kinds: &[Kind], row: f64) {
        let height = row * self.options.workers as f64;
        let mut at = columns.iter();
        for section in sections {
            let mine: Vec<&Column> = at.by_ref().take(section.ops.len()).collect();
            let (Some(first), Some(last)) = (mine.first(), mine.last()) else { continue };
            if section.layer.is_some() {
                let (left, right, y) = (first.x, last.x + last.width, TOP - 38.0);
                canvas.path(&format!("M{left:.1} {:.1}v-6H{right:.1}v6", y + 6.0), &format!("fill='none' stroke='{MUTED}'"));
                let text = format!("{}, all alike (× {})", section.title(), section.times);
                let text = if section.times == 1 { section.title() } else { text };
                canvas.text((left + right) / 2.0, y - 8.0, "font-size='13' font-weight='600' text-anchor='middle'", &text);
            }
            for column in mine {
                self.draw_column(canvas, column, &kinds[column.kind], row, height);
            }
        }
    }

    fn draw_column(&self, canvas: &mut Canvas, column: &Column, kind: &Kind, row: f64, height: f64) {
        canvas.rect(column.x, TOP, column.width, height, PALE, CRISP);
        let has = |worker: usize| self.queues[worker].tasks.iter().any(|share| share.op == column.op);
        let length = |worker: usize| match column.bytes.get(worker) {
            Some(bytes) => column.width * *bytes as f64 / column.most.max(1) as f64,
            None if has(worker) => column.width,
            None => 0.0,
        };
        // Neighbours that are alike are one rectangle; the name goes onto the highest that is wide enough, where it can be read.
        let name_width = 7.4 * kind.title.chars().count() as f64;
        let (mut from, mut named) = (0, None::<(f64, f64)>);
        for worker in 1..=self.options.workers {
            if worker < self.options.workers && length(worker) == length(from) {
                continue;
            }
            if length(from) > 0.0 {
                let (y, high) = (TOP + row * from as f64, row * (worker - from) as f64);
                canvas.rect(column.x, y, length(from), high, kind.color, CRISP);
                if high >= 20.0 && length(from) > name_width && named.is_none_or(|(_, highest)| high > highest) {
                    named = Some((y, high));
                }
            }
            from = worker;
        }
        let middle = column.x + column.width / 2.0;
        canvas.text(
            middle,
            TOP - 9.0,
            &format!("font-size='11' text-anchor='middle' fill='{MUTED}'"),
            &(column.kind + 1).to_string(),
        );
        if let Some((y, high)) = named {
            let place = if column.broken { column.x + column.width * 0.29 } else { middle };
            let style = "font-size='12.5' text-anchor='middle' fill='#fff'";
            // Beside a break there is room for the last word only.
            let name = if column.broken { kind.title.rsplit(' ').next().unwrap_or("") } else { &kind.title };
            canvas.text(place, y + high / 2.0 + 4.0, style, name);
        }
        if column.broken {
            // A break in the scale, right of the middle.
            let x = column.x + column.width * 0.6;
            let mut path = format!("M{x:.1} {:.1}", TOP - 3.0);
            let steps = (height / 7.0).ceil() as usize;
            for i in 0..steps {
                let _ = write!(path, "l{} {:.2}", if i % 2 == 0 { 4 } else { -4 }, (height + 6.0) / steps as f64);
            }
            canvas.path(&path, "fill='none' stroke='#fff' stroke-width='4'");
        }
    }

    fn draw_axes(&self, canvas: &mut Canvas, row: f64, bottom: f64, scale: f64) {
        let workers = self.options.workers;
        let step = [1, 2, 4, 8, 16, 32, 64, 128, 256].into_iter().find(|step| workers / step <= 8).unwrap_or(256);
        for worker in (0..workers).step_by(step) {
            let y = TOP + row * (worker as f64 + 0.5);
            canvas.path(&format!("M{:.1} {y:.1}h5", LEFT - 9.0), &format!("stroke='{MUTED}' stroke-width='0.8'"));
            canvas.text(LEFT - 13.0, y + 4.0, &format!("font-size='11' text-anchor='end' fill='{MUTED}'"), &worker.to_string());
        }
        let (x, y) = (MARGIN + 6.0, (TOP + bottom) / 2.0);
        let turned = format!("font-size='12' text-anchor='middle' fill='{MUTED}' transform='rotate(-90 {x:.1} {y:.1})'");
        canvas.text(x, y, &turned, "workers");
        // A scale bar of a round size, 40 to 110 units long.
        let round = |n: &f64| (40.0..110.0).contains(&(n * scale));
        let bar = (0..12).flat_map(|e| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(e))).find(round);
        if let Some(bytes) = bar {
            let y = bottom + 16.0;
            canvas.path(&format!("M{LEFT} {:.1}v6h{:.1}v-6", y - 3.0, bytes * scale), &format!("fill='none' stroke='{INK}'"));
            let text = format!("{} streamed by a worker", size(bytes as usize));
            canvas.text(LEFT + bytes * scale + 9.0, y + 5.0, &format!("font-size='12' fill='{INK}'"), &text);
            let note =
                "each op waits for the whole op before it; the loaders run ahead and fill the grey with the weights of the next";
            canvas.text(LEFT + CHART, y + 5.0, &format!("font-size='12' text-anchor='end' fill='{MUTED}'"), note);
        }
    }

    fn draw_balance(&self, canvas: &mut Canvas, row: f64) {
        let bytes = bytes_by_worker(self);
        let (least, most) = (bytes.iter().min().copied().unwrap_or(0), bytes.iter().max().copied().unwrap_or(0));
        let (x, width) = (LEFT + CHART + 30.0, WIDTH - MARGIN - LEFT - CHART - 30.0);
        canvas.text(x, TOP - 26.0, "font-size='12' font-weight='600'", "bytes in a step");
        let range = if least == most { size(most) } else { format!("{} to {}", size(least), size(most)) };
        canvas.text(x, TOP - 9.0, &format!("font-size='11' fill='{MUTED}'"), &range);
        canvas.rect(x, TOP, width, row * bytes.len() as f64, PALE, CRISP);
        // One outline, so that there are no seams between hundreds of rows.
        let mut outline = format!("M{x:.1} {TOP}");
        for (worker, bytes) in bytes.iter().enumerate() {
            let right = x + width * *bytes as f64 / most.max(1) as f64;
            let _ = write!(outline, "H{right:.2}V{:.2}", TOP + row * (worker + 1) as f64);
        }
        canvas.path(&format!("{outline}H{x:.1}Z"), "fill='#8a99ab'");
    }

    fn draw_legend(&self, canvas: &mut Canvas, kinds: &[Kind], top: f64) -> f64 {
        const COLUMNS: usize = 4;
        let width = (WIDTH - 2.0 * MARGIN) / COLUMNS as f64;
        let rows = kinds.len().div_ceil(COLUMNS);
        for (i, kind) in kinds.iter().enumerate() {
            let (x, y) = (MARGIN + width * (i / rows) as f64, top + 44.0 * (i % rows) as f64);
            canvas.rect(x, y - 11.0, 14.0, 14.0, kind.color, "rx='2'");
            canvas.text(x + 22.0, y + 0.5, "font-size='13'", &format!("{}  {}", i + 1, kind.title));
            let op = &self.ops[kind.op];
            let mut text = format!("{} on {}", plural(op.tiles, "tile"), plural(self.shares(kind.op), "worker"));
            if op.weight_bytes > 0 {
                let _ = write!(text, ", {}", size(op.weight_bytes));
            }
            canvas.text(x + 22.0, y + 17.0, &format!("font-size='11.5' fill='{MUTED}'"), &text);
        }
        top + 44.0 * rows as f64
    }

    fn draw_shared(&self, canvas: &mut Canvas, kinds: &[Kind], top: f64) -> f64 {
        let all = self.options.shared_memory.max(1);
        let scale = (WIDTH - 2.0 * MARGIN) / all as f64;
        let heading = format!("Shared memory of a worker: {} bytes", grouped(all));
        canvas.text(MARGIN, top, "font-size='15' font-weight='600'", &heading);
        let (y, height) = (top + 14.0, 42.0);
        canvas.rect(MARGIN, y, WIDTH - 2.0 * MARGIN, height, "#fff", "stroke='#c9d0d8' stroke-dasharray='3 3'");
        let mut labels: Vec<(&str, String)> = Vec::new();
        let tasks: Vec<&str> = dedup(self.shared.iter().filter_map(|r| r.task.as_deref()));
        // A task has here the colour of its first op above.
        let of_task = |task: &str| kinds.iter().find(|kind| self.graph.ops[kind.op].task.name == task);
        let color = |task: &str| of_task(task).map_or(MUTED, |kind| kind.color);
        let mut end = 0;
        for region in &self.shared {
            let (x, width) = (MARGIN + scale * region.offset as f64, scale * region.bytes as f64);
            end = end.max(region.offset.saturating_add(region.bytes));
            match (&region.task, region.name.as_str()) {
                (None, "ring") => self.draw_ring(canvas, region, (x, y, height), scale, &mut labels),
                (None, name) => {
                    let color = GREYS[labels.len() % GREYS.len()];
                    canvas.rect(x, y, width, height, color, "");
                    labels.push((color, format!("{name} {}", grouped(region.bytes))));
                }
                (Some(task), _) => {
                    // Scratch of several tasks lies in the same place, at different times: one lane for each.
                    let lane = tasks.iter().position(|t| t == task).unwrap_or(0);
                    let lanes = height / tasks.len().max(1) as f64;
                    let y = y + lanes * lane as f64;
                    canvas.rect(x, y, width, lanes, color(task), "stroke='#fff' stroke-width='0.7'");
                }
            }
        }
        for task in &tasks {
            let bytes = self.shared.iter().filter(|r| r.task.as_deref() == Some(task)).map(|r| r.bytes).sum();
            labels.push((color(task), format!("scratch of {task} {}", grouped(bytes))));
        }
        labels.push(("#fff", format!("free {}", grouped(all.saturating_sub(end)))));
        let (mut x, mut y) = (MARGIN, y + height + 24.0);
        for (color, label) in &labels {
            let width = 40.0 + 6.7 * label.chars().count() as f64;
            if x + width > WIDTH - MARGIN {
                (x, y) = (MARGIN, y + 22.0);
            }
            canvas.rect(x, y - 10.0, 12.0, 12.0, color, "rx='2' stroke='#c9d0d8' stroke-width='0.6'");
            canvas.text(x + 18.0, y, "font-size='12'", label);
            x += width;
        }
        y
    }

    fn draw_ring(
        &self,
        canvas: &mut Canvas,
        region: &Shared,
        (x, y, height): (f64, f64, f64),
        scale: f64,
        labels: &mut Vec<(&str, String)>,
    ) {
        const IN_FLIGHT: &str = "#5b8fcb";
        const REST: &str = "#a9c5e6";
        let page = scale * self.ring.page_bytes as f64;
        for i in 0..self.ring.stages {
            let color = if i < self.ring.in_flight { IN_FLIGHT } else { REST };
            canvas.rect(x + page * i as f64, y, page, height, color, "stroke='#fff' stroke-width='1.5'");
        }
        let ring = self.ring;
        labels.push((REST, format!("ring {} = {} pages of {}", grouped(region.bytes), ring.stages, grouped(ring.page_bytes))));
        labels.push((IN_FLIGHT, format!("{} of them in flight at most", ring.in_flight)));
    }
}

/// Gives every column its place; returns units per byte.
fn place(sections: &[Section], columns: &mut [Column]) -> f64 {
    let layered: Vec<bool> = sections.iter().flat_map(|s| std::iter::repeat_n(s.layer.is_some(), s.ops.len())).collect();
    let gaps = GAP * columns.len() as f64 + (SECTION_GAP - GAP) * sections.len().saturating_sub(1) as f64;
    let thin = THIN * columns.iter().filter(|c| c.bytes.is_empty()).count() as f64;
    let room = (CHART - gaps - thin).max(100.0);
    let all: f64 = columns.iter().map(|c| c.most as f64).sum();
    let (mut left, mut rest) = (room, all);
    for (column, layered) in columns.iter_mut().zip(&layered) {
        if !layered && column.most as f64 > MOST_OF_CHART * all {
            (column.broken, column.width) = (true, MOST_OF_CHART * room);
            left -= column.width;
            rest -= column.most as f64;
        }
    }
    let scale = left / rest.max(1.0);
    let mut x = LEFT;
    let mut at = columns.iter_mut();
    for section in sections {
        for column in at.by_ref().take(section.ops.len()) {
            if !column.bytes.is_empty() && !column.broken {
                column.width = column.most as f64 * scale;
            }
            column.x = x;
            x += column.width + GAP;
        }
        x += SECTION_GAP - GAP;
    }
    scale
}

fn dedup<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;

    #[test]
    fn a_picture_is_well_formed() {
        for (i, plan) in [plan(QWEN3_8B, 132, 1), plan(TWO_RANKS, 5, 2), plan(SMALL, 1, 16)].iter().enumerate() {
            let svg = plan.svg();
            if let Ok(folder) = std::env::var("MPK_TEST_OUT") {
                std::fs::write(format!("{folder}/plan{i}.svg"), &svg).unwrap();
            }
            assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
            assert!(!svg.contains("NaN") && !svg.contains("inf"));
            assert!(svg.contains("attention_partial"));
            let (_, kinds) = plan.columns(&super::sections(plan));
            let colors: std::collections::BTreeSet<_> = kinds.iter().map(|kind| kind.color).collect();
            assert_eq!(colors.len(), kinds.len(), "two ops of one color");
            assert!(svg.len() < 400_000, "{} bytes", svg.len());
        }
    }
}
