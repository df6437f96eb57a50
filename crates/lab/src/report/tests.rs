use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::page::{Axis, Comparison, Dot, Figure, Mark, Section, Series, Shape, Table};

fn axis(label: &str, unit: &str) -> Axis {
    Axis { label: label.into(), unit: unit.into(), ..Axis::default() }
}

fn dot(x: f64, y: f64, spread: f64, mark: Mark) -> Dot {
    Dot { x, y, spread: (y - spread, y + spread), mark }
}

fn series(label: &str, points: &[Dot]) -> Series {
    Series { label: label.into(), points: points.to_vec(), is_reference: false }
}

fn figure(shape: Shape, x: Axis, y: Axis, series: Vec<Series>) -> Figure {
    Figure { name: "replies".into(), title: "Replies & <others>".into(), x, y, series, shape }
}

fn curves() -> Figure {
    let sped = [
        dot(1000.0, 1000.0, 20.0, Mark::Plain),
        dot(2000.0, 1500.0, 100.0, Mark::Unstable),
        dot(3000.0, 800.0, 0.0, Mark::Plain),
    ];
    let mt = [
        dot(1000.0, 990.0, 0.0, Mark::Plain),
        dot(2000.0, 700.0, 0.0, Mark::Failed),
        dot(3000.0, f64::NAN, 0.0, Mark::Plain),
    ];
    let asked = [dot(1000.0, 1000.0, 0.0, Mark::Plain), dot(3000.0, 3000.0, 0.0, Mark::Plain)];
    let asked = Series { is_reference: true, ..series("asked for", &asked) };
    let all = vec![series("sped", &sped), series("mt", &mt), asked];
    figure(Shape::Curves, axis("offered load", "requests/s"), axis("replies", "replies/s"), all)
}

fn bars(shape: Shape) -> Figure {
    let x = Axis { names: vec!["sped".into(), "thread-per-request".into()], ..Axis::default() };
    let one = [dot(0.0, 40.0, 2.0, Mark::Plain), dot(1.0, 70.0, 0.0, Mark::Unstable)];
    let other = [dot(0.0, 60.0, 0.0, Mark::Failed), dot(1.0, 30.0, 0.0, Mark::Plain)];
    let all = vec![series("user", &one), series("system", &other)];
    figure(shape, x, axis("share", "%"), all)
}

fn logarithmic() -> Figure {
    let y = Axis { is_logarithmic: true, ..axis("response time", "ms") };
    let points = [
        dot(1.0, 0.4, 0.1, Mark::Plain),
        dot(2.0, 900.0, 50.0, Mark::Plain),
        dot(3.0, 0.0, 0.0, Mark::Plain),
    ];
    figure(Shape::Curves, axis("rate", "/s"), y, vec![series("sped", &points)])
}

fn page() -> Page {
    let section = Section {
        name: "overload".into(),
        title: "What happens at twice the load?".into(),
        question: vec!["Asked <twice>.".into()],
        answer: vec!["It holds.".into()],
        comparisons: vec![Comparison {
            of: "Brecht04 figure 8".into(),
            paper: "71 % more".into(),
            here: "8 % | more".into(),
            agrees: Agreement::Yes,
        }],
        figures: vec![curves(), curves()],
        tables: vec![Table {
            title: "Knobs".into(),
            head: vec!["server".into(), "replies/s".into()],
            rows: vec![vec!["sped".into(), "6,400".into()]],
            notes: vec!["Medians.".into()],
        }],
        excluded: vec!["mt at 2,000/s: the client was the limit".into()],
        commands: vec!["weir lab run overload > log".into()],
    };
    let machine = BTreeMap::from([(String::from("processors"), String::from("2"))]);
    Page {
        title: "Which server is best?".into(),
        summary: vec!["sped.".into()],
        sections: vec![section],
        facts: vec![("The machine".into(), machine)],
    }
}

#[test]
fn what_is_drawn_and_told() {
    let drawing = |stem: &str| Drawing { stem: stem.into(), svg: "<svg></svg>\n".into() };
    let drawings = [vec![drawing("overload-replies"), drawing("overload-replies-2")]];
    let rows = [
        ("page.html", html::page(&page(), &drawings), include_str!("golden/page.html")),
        ("page.md", markdown::page(&page(), &drawings), include_str!("golden/page.md")),
        ("curves.svg", figure::svg(&curves()), include_str!("golden/curves.svg")),
        ("bars.svg", figure::svg(&bars(Shape::Bars)), include_str!("golden/bars.svg")),
        ("stack.svg", figure::svg(&bars(Shape::Stack)), include_str!("golden/stack.svg")),
        ("logarithmic.svg", figure::svg(&logarithmic()), include_str!("golden/logarithmic.svg")),
    ];
    for (name, told, expected) in rows {
        assert!(told == expected, "{name} is told as:\n{told}");
    }
    let empty = figure::svg(&Figure { series: Vec::new(), ..curves() });
    assert!(empty.contains(">There are no values to draw.</text>"), "{empty}");
}

#[test]
fn all_files_of_a_page_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("made/on the way");
    write(&page(), &to).unwrap();
    let names = fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name());
    let names: BTreeSet<_> = names.map(|name| name.into_string().unwrap()).collect();
    let expected = ["index.html", "index.md", "overload-replies-2.svg", "overload-replies.svg"];
    assert_eq!(names.iter().map(|name| &name[..]).collect::<Vec<_>>(), expected);
    let read = |name: &str| fs::read(to.join(name)).unwrap();
    assert_eq!(read("overload-replies.svg"), figure::svg(&curves()).into_bytes());
}

#[test]
fn a_page_of_somebody_else_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index.html");
    let rows = [(None, true), (Some("<html>mine</html>"), false), (Some(""), true)];
    for (there, is_written) in rows {
        there.iter().for_each(|text| fs::write(&path, text).unwrap());
        let written = write(&page(), dir.path());
        assert_eq!(written.is_ok(), is_written, "{there:?}: {written:?}");
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(Some(text.as_str()) != there, is_written);
        assert_eq!(dir.path().join("index.md").exists(), is_written);
        // Its own may be written again.
        assert_eq!(write(&page(), dir.path()).is_ok(), is_written);
        fs::remove_file(&path).unwrap();
        let _ = fs::remove_file(dir.path().join("index.md"));
    }
}

#[test]
fn a_disk_that_takes_nothing_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a file");
    fs::write(&file, "").unwrap();
    // Root may write anywhere, so a place is taken by what cannot be written to.
    let taken = dir.path().join("taken");
    fs::create_dir_all(taken.join("index.md")).unwrap();
    let full = dir.path().join("full");
    fs::create_dir(&full).unwrap();
    std::os::unix::fs::symlink("/dev/full", full.join("index.html")).unwrap();
    let rows = [
        (file.clone(), file),
        (taken.clone(), taken.join("index.md")),
        (full.clone(), full.join("index.html")),
    ];
    for (to, named) in rows {
        let failed = write(&Page::default(), &to);
        let Err(Failure::Machine(what) | Failure::Full(what)) = failed else {
            panic!("{failed:?}")
        };
        assert!(what.starts_with(&format!("{}: ", named.display())), "{what}");
    }
}

/// What would be a tag, the end of an attribute, a table's edge, or no text at all.
const UNRULY: &str = "(<x>|&|\"|'|`|\\||\\*|#|-|\u{0}|\u{1b}|\u{ffff}|é|漢|\n| |a|long-word){0,12}";

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), -10.0..10.0, 0.0..1e6, (0..5_u8).prop_map(f64::from), Just(f64::NAN)]
}

prop_compose! {
    fn any_dot()(
        x in any_value(),
        y in any_value(),
        spread in (any_value(), any_value()),
        mark in prop::sample::select(vec![Mark::Plain, Mark::Failed, Mark::Unstable]),
    ) -> Dot {
        Dot { x, y, spread, mark }
    }
}

prop_compose! {
    fn any_series()(
        label in UNRULY,
        points in prop::collection::vec(any_dot(), 0..8),
        is_reference in any::<bool>(),
    ) -> Series {
        Series { label, points, is_reference }
    }
}

prop_compose! {
    fn any_axis()(
        label in UNRULY,
        unit in UNRULY,
        is_logarithmic in any::<bool>(),
        names in prop::collection::vec(UNRULY, 0..5),
    ) -> Axis {
        Axis { label, unit, is_logarithmic, names }
    }
}

prop_compose! {
    fn any_figure()(
        name in UNRULY,
        title in UNRULY,
        x in any_axis(),
        y in any_axis(),
        series in prop::collection::vec(any_series(), 0..5),
        shape in prop::sample::select(vec![Shape::Curves, Shape::Bars, Shape::Stack]),
    ) -> Figure {
        Figure { name, title, x, y, series, shape }
    }
}

fn any_texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(UNRULY, 0..3)
}

prop_compose! {
    fn any_section()(
        (name, title, of, paper) in (UNRULY, UNRULY, UNRULY, UNRULY),
        (question, answer, excluded, commands) in
            (any_texts(), any_texts(), any_texts(), any_texts()),
        (head, cells, notes) in (any_texts(), any_texts(), any_texts()),
        figures in prop::collection::vec(any_figure(), 0..3),
    ) -> Section {
        let here = paper.clone();
        let comparison = Comparison { of, paper, here, agrees: Agreement::Open };
        let table = Table { title: title.clone(), head, rows: vec![cells; 2], notes };
        let (comparisons, tables) = (vec![comparison], vec![table]);
        Section {
            name, title, question, answer, comparisons, figures, tables, excluded, commands,
        }
    }
}

prop_compose! {
    fn any_page()(
        title in UNRULY,
        summary in any_texts(),
        sections in prop::collection::vec(any_section(), 0..3),
        facts in prop::collection::btree_map(UNRULY, UNRULY, 0..3),
    ) -> Page {
        Page { title: title.clone(), summary, sections, facts: vec![(title, facts)] }
    }
}

/// The lines of Markdown that are in no block of code, which ends with the fence it begins with.
fn outside_code(markdown: &str) -> impl Iterator<Item = &str> {
    let mut fence = None;
    markdown.lines().filter(move |line| {
        let ticks = line.chars().take_while(|c| *c == '`').count();
        match fence {
            Some(own) => {
                if ticks == own && line.len() == own {
                    fence = None;
                }
                false
            }
            None if ticks >= 3 => {
                fence = Some(ticks);
                false
            }
            None => true,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_on_a_page_is_told_and_harmless(page in any_page()) {
        let drawings = drawings(&page);
        let html = html::page(&page, &drawings);
        let markdown = markdown::page(&page, &drawings);
        let svgs = drawings.iter().flatten().map(|drawing| &drawing.svg);
        for text in svgs.chain([&html]) {
            prop_assert!(!text.contains("<x>"));
            prop_assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
            prop_assert!(!text.contains("=\"NaN") && !text.contains("=\"inf"));
        }
        prop_assert!(outside_code(&markdown).all(|line| !line.contains("<x>")));
        let stems = drawings.iter().flatten().map(|drawing| &drawing.stem);
        let stems: Vec<_> = stems.collect();
        let is_harmless = |c: char| c == '-' || c.is_ascii_lowercase() || c.is_ascii_digit();
        prop_assert!(stems.iter().all(|stem| stem.chars().all(is_harmless)));
        prop_assert_eq!(stems.iter().collect::<BTreeSet<_>>().len(), stems.len());
    }
}
