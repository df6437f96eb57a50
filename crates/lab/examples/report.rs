//! Writes a page with figures of every kind into a directory, to look at how they are drawn:
//! `cargo run -p lab --example report -- DIR`. Its numbers are made up.

use std::collections::BTreeMap;
use std::path::Path;

use lab::page::{
    Agreement, Axis, Comparison, Dot, Figure, Mark, Page, Section, Series, Shape, Table,
};
use lab::report;

const SERVERS: [(&str, f64, f64); 13] = [
    ("sped, accept-limit 1", 6_400.0, 0.45),
    ("sped, accept-limit inf", 6_900.0, 0.85),
    ("symped, 4 processes", 7_400.0, 0.8),
    ("shared-symped", 7_900.0, 0.9),
    ("amped", 7_700.0, 0.88),
    ("mp", 4_800.0, 0.3),
    ("mt, 128 threads", 5_600.0, 0.5),
    ("knot, non-blocking sendfile", 6_100.0, 0.6),
    ("watpipe", 7_200.0, 0.75),
    ("seda", 4_100.0, 0.95),
    ("proactor", 8_300.0, 0.97),
    ("nginx 1.31.5", 6_000.0, 0.4),
    ("lighttpd 1.4.69", 6_500.0, 0.8),
];
const RATES: [f64; 12] = [1e3, 2e3, 4e3, 5e3, 6e3, 7e3, 8e3, 9e3, 10e3, 12e3, 14e3, 16e3];

fn main() -> Result<(), lab::Failure> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| String::from("target/report"));
    report::write(&page(), Path::new(&dir))
}

fn page() -> Page {
    let words = |text: &str| vec![String::from(text)];
    Page {
        title: "Which server and which knobs are best on this machine?".into(),
        summary: words(
            "proactor answers most: 8,300 requests/s at its best rate, 28 % above nginx. At twice \
             the capacity, with clients that wait one second, it still answers 97 % of that; mp \
             falls to 30 %.",
        ),
        sections: vec![overload(), inside()],
        facts: vec![
            facts("The machine", &[("processors", "2 × Xeon at 2.1 GHz"), ("memory", "24 GiB")]),
            facts("Versions", &[("weir", "0.1.0"), ("kernel", "6.1.0"), ("nginx", "1.31.5")]),
        ],
    }
}

fn facts(title: &str, pairs: &[(&str, &str)]) -> (String, BTreeMap<String, String>) {
    let pairs = pairs.iter().map(|&(name, value)| (name.into(), value.into()));
    (title.into(), pairs.collect())
}

fn axis(label: &str, unit: &str) -> Axis {
    Axis { label: label.into(), unit: unit.into(), ..Axis::default() }
}

fn overload() -> Section {
    let title = "Replies over offered load: one connection for each request, a file of 1 KB, \
                 clients that wait one second";
    let asked = RATES.map(|x| Dot { x, y: x, spread: (x, x), mark: Mark::Plain });
    let asked =
        Series { label: "what is asked for".into(), points: asked.to_vec(), is_reference: true };
    let all = SERVERS.map(|(name, peak, kept)| curve(name, |rate| replies(rate, peak, kept)));
    let times = SERVERS.map(|(name, peak, _)| {
        curve(name, |rate| (0.8 + (rate / peak).powi(8) * 40.0).min(990.0 - peak / 100.0))
    });
    let few = SERVERS[..4]
        .iter()
        .map(|&(name, peak, kept)| curve(name, |rate| replies(rate, peak, kept)));
    let x = || axis("offered load", "requests/s");
    let logarithmic = Axis { is_logarithmic: true, ..axis("response time, median", "ms") };
    Section {
        name: "overload".into(),
        title: "What happens at twice the load?".into(),
        question: vec![
            "Each server is asked at rates from an eighth of its own capacity to twice of it. A \
             client that has waited a second goes away."
                .into(),
        ],
        answer: vec![
            "All keep up until they are saturated. Beyond that the servers which accept as many \
             as they can keep their rate, and those which accept one at a time lose half of it."
                .into(),
        ],
        comparisons: comparisons(),
        figures: vec![
            figure(
                "replies",
                title,
                x(),
                axis("replies", "replies/s"),
                all.into_iter().chain([asked.clone()]).collect(),
            ),
            figure("times", "Response times of those answered", x(), logarithmic, times.to_vec()),
            figure(
                "few",
                "Replies of four servers",
                x(),
                axis("replies", "replies/s"),
                few.chain([asked]).collect(),
            ),
            figure("none", "Queue drops", x(), axis("drops", "connections/s"), Vec::new()),
        ],
        tables: vec![Table {
            title: "The best knobs of each".into(),
            head: ["server", "accept-limit", "workers", "replies/s", "spread"]
                .map(String::from)
                .to_vec(),
            rows: SERVERS
                .iter()
                .map(|&(name, peak, _)| {
                    let cells = [name, "inf", "4", &peak.to_string(), "1.2 %"];
                    cells.map(String::from).to_vec()
                })
                .collect(),
            notes: vec!["Medians of five repeats, interleaved with all others.".into()],
        }],
        excluded: vec!["seda at 16,000/s, repeat 3: the client was the limit".into()],
        files: Vec::new(),
        commands: vec!["weir lab testbed up".into(), "weir lab run overload --repeats 5".into()],
    }
}

fn figure(name: &str, title: &str, x: Axis, y: Axis, series: Vec<Series>) -> Figure {
    Figure { name: name.into(), title: title.into(), x, y, series, shape: Shape::Curves }
}

/// Up to the peak as asked, then down to what is kept of it at twice the peak.
fn replies(rate: f64, peak: f64, kept: f64) -> f64 {
    let over = ((rate - peak) / peak).clamp(0.0, 1.3);
    rate.min(peak) * (1.0 - (1.0 - kept) * over.sqrt())
}

fn curve(name: &str, value: impl Fn(f64) -> f64) -> Series {
    let points = RATES.iter().enumerate().map(|(at, &x)| {
        let y = value(x);
        let wide = 0.01 + 0.05 * ((at * 7 + name.len()) % 5) as f64 / 5.0;
        let mark = match (name, at) {
            ("mp", 9) => Mark::Failed,
            ("seda", 8) | ("mt, 128 threads", 10) => Mark::Unstable,
            _ => Mark::Plain,
        };
        Dot { x, y, spread: (y * (1.0 - wide), y * (1.0 + wide)), mark }
    });
    Series { label: name.into(), points: points.collect(), is_reference: false }
}

fn comparisons() -> Vec<Comparison> {
    let comparison = |of: &str, paper: &str, here: &str, agrees| Comparison {
        of: of.into(),
        paper: paper.into(),
        here: here.into(),
        agrees,
    };
    vec![
        comparison(
            "Brecht04 figure 8",
            "Accepting all that wait gives up to 71 % more replies than accepting one at a time.",
            "8 % more at the peak, 89 % more at twice the load.",
            Agreement::Yes,
        ),
        comparison(
            "Brecht04 figure 4",
            "TUX does best with an accept-limit of 1.",
            "No difference beyond the spread.",
            Agreement::Open,
        ),
        comparison(
            "Pariag07 figure 4",
            "Knot is 18 % behind the best.",
            "27 % behind, and shared-symped is not the best.",
            Agreement::No,
        ),
    ]
}

fn inside() -> Section {
    let odd = curve("with values that are none", |x| if x < 4e3 { 0.0 } else { 9e8 / x });
    let y = Axis { is_logarithmic: true, ..axis("", "connections") };
    Section {
        name: "inside".into(),
        title: "Where does the time go?".into(),
        question: vec!["The share of the processor by category, from samples.".into()],
        figures: vec![
            shares(),
            sizes(),
            many(),
            figure("odd", "Values that have no place", axis("rate", "/s"), y, vec![odd]),
        ],
        ..Section::default()
    }
}

fn servers() -> Axis {
    let names = SERVERS[..7].iter().map(|(name, ..)| String::from(*name)).collect();
    Axis { names, ..axis("server", "") }
}

fn plain(x: usize, y: f64) -> Dot {
    Dot { x: x as f64, y, spread: (y, y), mark: Mark::Plain }
}

fn shares() -> Figure {
    const PARTS: [&str; 10] = [
        "read the request",
        "find the file",
        "send",
        "accept",
        "poll",
        "close",
        "other calls",
        "user: parse",
        "user: other",
        "idle",
    ];
    let parts = PARTS.iter().enumerate().map(|(part, name)| {
        let share = |server: usize| {
            let weight = |part: usize| (1 + (part * 5 + server * 3) % 9) as f64;
            100.0 * weight(part) / (0..PARTS.len()).map(weight).sum::<f64>()
        };
        let points = (0..7).map(|server| plain(server, share(server))).collect();
        Series { label: String::from(*name), points, is_reference: false }
    });
    Figure {
        shape: Shape::Stack,
        ..figure(
            "shares",
            "Shares of the processor's time",
            servers(),
            axis("share of the time", "%"),
            parts.collect(),
        )
    }
}

fn sizes() -> Figure {
    let sizes = ["1 KB", "10 KB", "100 KB", "1 MB"];
    let groups = sizes.iter().enumerate().map(|(size, name)| {
        let points = SERVERS[..7].iter().enumerate().map(|(server, &(_, peak, _))| {
            let y = peak * 7.0 / (1.0 + 3.0 * size as f64);
            let mark = match (server, size) {
                (5, 2) => Mark::Failed,
                (3, 1) => Mark::Unstable,
                _ => Mark::Plain,
            };
            Dot { spread: (y * 0.96, y * 1.05), mark, ..plain(server, y) }
        });
        Series { label: String::from(*name), points: points.collect(), is_reference: false }
    });
    Figure {
        shape: Shape::Bars,
        ..figure(
            "sizes",
            "Capacity by size of the file",
            servers(),
            axis("capacity", "replies/s"),
            groups.collect(),
        )
    }
}

fn many() -> Figure {
    let names = (0..24).map(|x| format!("class {x} of the set of files"));
    let x = Axis { names: names.collect(), ..Axis::default() };
    let points = (0..24).map(|x| plain(x, ((x * 37) % 23) as f64 / 10.0)).collect();
    let one = Series { label: String::new(), points, is_reference: false };
    let y = axis("time in the queue of ready connections, ninety-ninth percentile", "ms");
    Figure { shape: Shape::Bars, ..figure("many", "Many columns with long names", x, y, vec![one]) }
}
