//! What is to be measured, as a value: the same value is measured in the same way, and names its
//! result.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::profile;
use crate::setup::WarmUp;
use crate::subject::Subject;
use crate::testbed::Layout;

/// One point: a subject, a load and the machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Whose question it answers: the experiment's name.
    pub experiment: String,
    /// Which part of it: `probe`, `tries`, `rates`.
    pub stage: String,
    /// What is measured.
    pub subject: Subject,
    /// What it is asked.
    pub load: Load,
    /// On which machines.
    pub layout: Layout,
    /// What varies, by name: `of_capacity` 0.9. For curves.
    pub factors: BTreeMap<String, f64>,
    /// From 0.
    pub repeat: u32,
    /// What else is watched while it runs.
    pub profile: Option<profile::Kind>,
}

/// Arguments of `weir load`, but for the server's address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// As in `--workload`.
    pub workload: String,
    /// Measured, in seconds.
    pub seconds: f64,
    /// Before that.
    pub warm_up: WarmUp,
    /// All else, by the name of the flag: `rate`, `clients`, `patience`, `dirs`.
    pub flags: BTreeMap<String, String>,
    /// So many connections are open beside it, each of which has had one reply and asks no more.
    pub idle_connections: u32,
    /// What else the server has to do meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
}

/// What varies, as it stands in [`Spec::factors`]: what was asked for, as a share of the capacity.
pub const OF_CAPACITY: &str = "of_capacity";

/// A flag of a load.
pub const COOL_DOWN: &str = "cool-down";

/// A second load, from the same machine: it begins before the warm-up of the first one, and ends
/// with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// As in `--workload`.
    pub workload: String,
    /// Of its files, the one that is asked for; none: as the workload says.
    pub target: Option<String>,
    /// As [`Load::flags`].
    pub flags: BTreeMap<String, String>,
    /// So long before the first one's warm-up, in seconds: until its clients are there.
    pub begins_s: f64,
}

impl Load {
    /// One flag more, or another value of it.
    #[must_use]
    pub fn with(&self, flag: &str, value: impl ToString) -> Self {
        let mut load = self.clone();
        load.flags.insert(flag.into(), value.to_string());
        load
    }

    /// About how long a point of it takes, in seconds.
    #[must_use]
    pub fn costs_s(&self) -> f64 {
        /// The machines, the server's start and its end, and the last replies.
        const BESIDE_S: f64 = 0.7;
        /// Of those that [`WarmUp::Steady`] allows; as many follow within the load.
        const STEADY_S: f64 = 3.0;
        let warm_up = match self.warm_up {
            WarmUp::Fixed(seconds) => seconds,
            WarmUp::Steady(most) => 2.0 * STEADY_S.min(f64::from(most)),
        };
        // Its last clients are waited for until they give up.
        let of_second = |beside: &Beside| {
            let patience = beside.flags.get("patience").and_then(|text| text.parse::<f64>().ok());
            beside.begins_s + patience.unwrap_or(0.0)
        };
        let second = self.beside.as_ref().map_or(0.0, of_second);
        self.seconds + second + warm_up + self.cool_down_s() + BESIDE_S
    }

    /// So long it goes on behind what is measured, in seconds.
    #[must_use]
    pub fn cool_down_s(&self) -> f64 {
        self.flags.get(COOL_DOWN).and_then(|text| text.parse().ok()).unwrap_or(0.0)
    }
}

/// The stage of one that is simulated: see [`crate::simulated`].
pub const SIMULATED: &str = "simulated";

impl Spec {
    /// Whether no machine is measured.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.stage == SIMULATED
    }

    /// About how long it takes, in seconds.
    #[must_use]
    pub fn costs_s(&self) -> f64 {
        /// A second of a simulated one, in which thousands of requests are answered.
        const SIMULATED_SHARE: f64 = 0.01;
        match self.is_simulated() {
            true => self.load.costs_s() * SIMULATED_SHARE,
            false => self.load.costs_s(),
        }
    }

    /// The same for all repeats, and different for all else.
    ///
    /// # Panics
    /// Never: every spec can be written.
    #[must_use]
    pub fn key(&self) -> String {
        serde_json::to_string(&Self { repeat: 0, ..self.clone() }).expect("text for keys")
    }
}
