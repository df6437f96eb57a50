//! The Kubernetes manifest: nobody runs it here, but what is in it has to fit together.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use yaml_rust2::{Yaml, YamlLoader};

use super::balancer::example;
use crate::support::combination::Program;
use crate::support::command::run;
use crate::support::fixture::Fixture;
use crate::support::server::Server;
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_true};

/// The documents of the manifest.
struct Manifest(Vec<Yaml>);

impl Manifest {
    fn read() -> Self {
        let text = fs::read_to_string(example("kubernetes.yaml")).expect("the manifest");
        Self(YamlLoader::load_from_str(&text).expect("YAML"))
    }

    fn of(&self, kind: &str) -> &Yaml {
        let is_it = |document: &&Yaml| document["kind"].as_str() == Some(kind);
        self.0.iter().find(is_it).unwrap_or_else(|| panic!("no {kind}"))
    }

    fn pod(&self) -> &Yaml {
        &self.of("Deployment")["spec"]["template"]
    }

    fn container(&self) -> &Yaml {
        &self.pod()["spec"]["containers"][0]
    }

    /// The number of a named port.
    fn port(&self, name: &Yaml) -> i64 {
        let ports = self.container()["ports"].as_vec().expect("ports");
        let port = ports.iter().find(|port| port["name"] == *name);
        number(&port.unwrap_or_else(|| panic!("no port {name:?}"))["containerPort"])
    }

    /// The file that the pod gets.
    fn configuration(&self) -> &str {
        let map = self.of("ConfigMap");
        let volume = &self.pod()["spec"]["volumes"][0];
        assert_eq!(volume["configMap"]["name"], map["metadata"]["name"]);
        let mount = &self.container()["volumeMounts"][0];
        assert_eq!(mount["name"], volume["name"]);
        let args = self.container()["args"].as_vec().expect("arguments");
        let flag = args.iter().position(|arg| arg.as_str() == Some("--config")).expect("a flag");
        let path = args[flag + 1].as_str().expect("a path");
        let directory = mount["mountPath"].as_str().expect("a directory");
        let name = path.strip_prefix(directory).expect("a file in it").trim_start_matches('/');
        map["data"][name].as_str().unwrap_or_else(|| panic!("no {name} in the map"))
    }
}

fn number(value: &Yaml) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value:?} is not a number"))
}

#[test]
fn what_the_manifest_says_fits_together() {
    let manifest = Manifest::read();
    let deployment = &manifest.of("Deployment")["spec"];
    let labels = &manifest.pod()["metadata"]["labels"];
    let budget = &manifest.of("PodDisruptionBudget")["spec"];
    let service = &manifest.of("Service")["spec"];
    let spread = manifest.pod()["spec"]["topologySpreadConstraints"].as_vec().expect("two");
    for selector in [deployment, budget].into_iter().map(|spec| &spec["selector"]) {
        assert_eq!(selector["matchLabels"], *labels);
    }
    assert_eq!(service["selector"], *labels);
    for constraint in spread {
        assert_eq!(constraint["labelSelector"]["matchLabels"], *labels);
    }
    // One may always go, and the others serve on.
    let replicas = number(&deployment["replicas"]);
    assert!((1..replicas).contains(&number(&budget["minAvailable"])));

    let settings: toml::Table = manifest.configuration().parse().expect("TOML");
    let listens = |key: &str| -> i64 {
        let address: SocketAddr = settings[key].as_str().expect("text").parse().expect("address");
        assert!(address.ip().is_unspecified(), "{key}: other machines have to reach it");
        address.port().into()
    };
    assert_eq!(manifest.port(&service["ports"][0]["targetPort"]), listens("listen"));
    for probe in ["readinessProbe", "livenessProbe"] {
        let port = &manifest.container()[probe]["httpGet"]["port"];
        assert_eq!(manifest.port(port), listens("admin"), "{probe}");
    }
    let ms = |key: &str| settings[key].as_integer().expect("a number");
    let grace = number(&manifest.pod()["spec"]["terminationGracePeriodSeconds"]);
    let wanted = ms("drain-delay-ms") + ms("drain-timeout-ms");
    assert!(grace * 1000 > wanted, "{grace} s for {wanted} ms");
    let readiness = &manifest.container()["readinessProbe"];
    let noticed = number(&readiness["periodSeconds"]) * number(&readiness["failureThreshold"]);
    assert!(noticed * 1000 < ms("drain-delay-ms"), "noticed only after {noticed} s");
}

#[test]
fn weir_takes_the_configuration_of_the_manifest_and_answers_its_probes() {
    let manifest = Manifest::read();
    let site = Fixture::new();
    let file = site.beside("weir.toml");
    fs::write(&file, manifest.configuration()).expect("a file");
    let weir = Program::Weir.path();
    let checked = run(Command::new(&weir).arg("check").arg(&file)).expect("weir");
    assert_eq!(checked.0, Some(0), "{checked:?}");
    let mut command = Command::new(&weir);
    command.arg("serve").arg(site.root()).arg("--config").arg(&file);
    command.args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    let mut server = Server::start(command, 0);
    let admin = server.await_admin();
    for probe in ["readinessProbe", "livenessProbe"] {
        let path = manifest.container()[probe]["httpGet"]["path"].as_str().expect("a path");
        let answers = || {
            let mut wire = Wire::connect(admin, 0).expect("the admin port");
            wire.get(path, "").expect("sent");
            wire.reply(false).expect("a reply").0.status == 200
        };
        assert!(await_true(PATIENCE, answers), "{probe}: {path}");
    }
    // The delay would be waited out.
    drop(server);
}

#[test]
fn weir_takes_the_configuration_of_the_example() {
    let mut command = Command::new(Program::Weir.path());
    let checked = run(command.arg("check").arg(example("weir.toml"))).expect("weir");
    assert_eq!(checked.0, Some(0), "{checked:?}");
}
