//! Who does what in a model, beside the row of its architecture in the registry: what one performer
//! does there one task does here, and what two do no task does both of.

use measure::Duration;
use servers::architectures::{Architecture, Performer};
use sim::models::MODELS;
use sim::parameters::Parameters;
use sim::scenario::Scenario;
use sim::server::{Done, Step};

const STEPS: [Step; 6] =
    [Step::Accept, Step::Receive, Step::Path, Step::Send, Step::Pages, Step::Files];

fn performer(row: &Architecture, step: Step) -> Performer {
    match step {
        Step::Accept => row.accept,
        Step::Receive => row.receive,
        Step::Path => row.path,
        Step::Send => row.send,
        Step::Pages => row.pages,
        Step::Files => row.files,
    }
}

#[test]
fn steps_are_performed_by_whom_the_registry_says() {
    for model in MODELS {
        let mut parameters = Parameters::shipped("choi05").expect("a set");
        // No path is kept for long, and few files.
        parameters.set("path-entries", "1").expect("a number");
        let mut scenario = Scenario {
            memory_bytes: 8 << 20,
            // One after the other, so that steps that follow are of one request.
            clients: 1,
            workload: String::from("choi-clarknet"),
            warm_up: Duration::ZERO,
            measured: Duration::from_secs(10),
            ..Scenario::new(model, &parameters)
        };
        scenario.set("trace-scale", "0.1").expect("a scale");
        let mut workload = scenario.workload().expect("a trace");
        let warm = scenario.warm(&mut workload).expect("it fits");
        let done = scenario.run(warm, workload).expect("it runs").0.whole.done;
        let name = model.name;
        for step in [Step::Path, Step::Pages] {
            check(name, request_with(step, &done));
        }
    }
}

/// The steps of the first request that has this one, from its connection to its end.
fn request_with(step: Step, done: &[Done]) -> &[Done] {
    let at = done.iter().position(|(of, _)| *of == step).expect("one that has it");
    let begins = done[..at].iter().rposition(|(of, _)| *of == Step::Accept);
    let request = &done[begins.expect("its connection")..];
    let ends = request.iter().position(|(of, _)| *of == Step::Files).expect("its end");
    &request[..=ends]
}

/// Of the steps of one request, two by two.
fn check(name: &str, request: &[Done]) {
    let row = servers::architectures::architecture(name).expect("a row");
    let task = |step: Step| request.iter().find(|(of, _)| *of == step).map(|(_, task)| *task);
    for (at, one) in STEPS.iter().enumerate() {
        for other in &STEPS[at + 1..] {
            let (Some(by), Some(other_by)) = (task(*one), task(*other)) else { continue };
            let [performer, other_performer] = [one, other].map(|step| performer(row, *step));
            // One of several helpers may do the one, and another one the other.
            if performer == other_performer && performer == Performer::Helper {
                continue;
            }
            let is_one = performer == other_performer;
            assert_eq!(by == other_by, is_one, "{name}: {one:?} and {other:?} in {request:?}");
        }
    }
}
