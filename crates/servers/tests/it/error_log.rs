//! What the error log tells, and what becomes of a line that the disk does not take.

use servers::counters::{Counter, Counters};
use servers::error_log::{By, ErrorLog};
use servers::orders::Orders;
use servers::settings::{Level, LogTo};

#[test]
fn a_level_has_those_above_it() {
    let home = std::env::temp_dir();
    let path = home.join(format!("weir-error-log-{}", os::process::id()));
    let written = |level| {
        let (orders, counters) = (Orders::new(1, 1).unwrap(), Counters::new(1).unwrap());
        let log = ErrorLog::open(&LogTo::File(path.clone()), level, &orders, &counters).unwrap();
        Level::ALL.iter().for_each(|&level| log.write(level, By::Supervisor, "text"));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(counters.total(Counter::LogDrops), 0);
        text.lines().count()
    };
    assert!(Level::ALL.iter().copied().map(written).eq([1, 2, 3, 4]));
    let (orders, counters) = (Orders::new(1, 1).unwrap(), Counters::new(2).unwrap());
    let full = LogTo::File("/dev/full".into());
    let log = ErrorLog::open(&full, Level::Info, &orders, &counters).unwrap();
    log.write(Level::Error, By::Worker(1), "text");
    assert_eq!(counters.total(Counter::LogDrops), 1);
}
