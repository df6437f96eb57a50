use std::path::Path;

use lab::account;
use lab::results::{Line, Results};

/// Lines of what the lab has measured: those that are read are told, and read again as they were.
///
/// # Panics
/// Where one of these does not hold.
pub fn results(data: &[u8]) {
    let mut results = Results::default();
    for line in data.split(|&byte| byte == b'\n') {
        let (runs, points) = (results.runs.len(), results.points.len());
        if results.take(line).is_err() {
            assert_eq!((results.runs.len(), results.points.len()), (runs, points));
        }
    }
    let mut again = Results::default();
    for text in texts(&results) {
        again.take(text.as_bytes()).expect("what was written is read");
    }
    assert_eq!(texts(&again), texts(&results));
    // Measured twice, as far as a page can know.
    let both = [results, again];
    let sources = [(Path::new("one"), &both[0]), (Path::new("two"), &both[1])];
    assert!(!account::page(&sources).title.is_empty());
    let points: usize = both.iter().map(|of| of.points.len()).sum();
    assert!(account::cells(&sources).lines().count() <= points);
}

fn texts(results: &Results) -> Vec<String> {
    let runs = results.runs.iter().map(|run| Line::Run(Box::new(run.clone())));
    let points = results.points.iter().map(|point| Line::Point(Box::new(point.clone())));
    runs.chain(points).map(|line| line.text()).collect()
}
