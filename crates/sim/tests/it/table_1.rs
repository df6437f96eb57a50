//! Choi05 table 1 and figure 3: what is left for files, by model.

use sim::models::Model;
use sim::parameters::Parameters;
use sim::scenario::Scenario;

/// Memory in MB, processors, model, knob, and the cache that its formula gives.
const ROWS: [(u64, u32, &str, &str, u64); 18] = [
    (1024, 1, "mp", "", 543),
    (1024, 1, "mt", "", 969),
    (1024, 1, "sped", "", 970),
    (1024, 1, "amped", "", 967),
    (1024, 1, "pipelined", "", 970),
    (1024, 16, "mp", "", 68),
    (1024, 16, "mt", "", 947),
    (1024, 16, "sped", "", 543),
    (1024, 16, "amped", "", 518),
    (1024, 16, "pipelined", "", 968),
    (3072, 16, "amped", "", 1604),
    (4096, 8, "mp", "processes=256", 270),
    (4096, 16, "mp", "", 270),
    (4096, 16, "mp", "processes=512", 140),
    (4096, 16, "mt", "", 3858),
    (4096, 16, "sped", "", 2172),
    (4096, 16, "amped", "", 2147),
    (4096, 16, "pipelined", "", 3879),
];

#[test]
fn memory_is_left_for_files_as_by_table_1() {
    for (memory_mb, cores, name, knob, expected) in ROWS {
        let knob = knob.split_once('=').map(|(name, value)| (name.into(), value.into()));
        let parameters = Parameters::shipped("choi05").expect("a set");
        let scenario = Scenario {
            knobs: knob.into_iter().collect(),
            cores,
            memory_bytes: memory_mb << 20,
            clients: 5000,
            ..Scenario::new(Model::named(name).expect("a model"), &parameters)
        };
        let (_, footprint) = scenario.sized().expect("it fits");
        let seen = footprint.data_cache_bytes() as f64 / f64::from(1 << 20);
        let off = (seen - expected as f64).abs();
        assert!(
            off <= 0.6,
            "{name} {knob:?} at {memory_mb} MB on {cores}: {seen}",
            knob = scenario.knobs
        );
    }
}
