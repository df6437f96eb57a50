//! Choi05 table 5: the locality of its traces, in memory that is warm without having been used.

use load::source::draws;
use load::trace::presets::PRESETS;
use sim::models::Model;
use sim::parameters::Parameters;
use sim::scenario::Scenario;

#[test]
fn localities_are_those_of_table_5() {
    const REQUESTS: u64 = 100_000;
    let mut parameters = Parameters::shipped("choi05").expect("a set");
    for free in ["entry-bytes", "thread-bytes"] {
        parameters.set(free, "0").expect("nothing is taken off the cache");
    }
    for preset in PRESETS {
        let scenario = Scenario {
            memory_bytes: preset.model.cache_bytes,
            clients: 1,
            workload: preset.name.into(),
            ..Scenario::new(Model::named("mt").expect("a model"), &parameters)
        };
        let mut workload = scenario.workload().expect("a trace");
        let mut files = scenario.warm(&mut workload).expect("it fits").files;
        for number in 0..REQUESTS {
            let (mut sessions, mut thinking) = draws(7, number);
            let session = workload.session(number, &mut sessions, &mut thinking);
            let file = session.bursts[0].requests[0].file;
            if !files.look(file.0) {
                files.keep(file.0, workload.files().file(file).bytes.expect("a size"));
            }
        }
        let seen = files.seen();
        // Of what is left of all requests: a tenth of a point of hits is a fifth of it elsewhere.
        let misses = 1.0 - seen.hits as f64 / REQUESTS as f64;
        let expected = 1.0 - preset.model.hits;
        let off = (misses / expected - 1.0).abs();
        assert!(off < 0.15, "{}: {misses} of all, not {expected}", preset.name);
    }
}
