//! Which processors are whose.

use std::collections::BTreeMap;
use std::fs;

/// The numbers of the server's processors and of its client's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) server: Vec<usize>,
    pub(super) client: Vec<usize>,
    pub(super) boundary: Boundary,
}

/// What lies between the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    /// Each has cores of its own.
    Cores,
    /// Each has threads of its own of one core.
    Threads,
    /// Nothing: both have the one processor.
    None,
}

impl Split {
    /// Of this machine, as far as this process may use it.
    pub(super) fn here() -> std::io::Result<Self> {
        Ok(Self::of(&os::thread::processors()?, core))
    }

    /// Half of the cores for the server, the others for the client: one more if their number is
    /// odd, as it must not be the limit.
    fn of(processors: &[usize], core_of: impl Fn(usize) -> String) -> Self {
        let mut cores = BTreeMap::<String, Vec<usize>>::new();
        for &number in processors {
            cores.entry(core_of(number)).or_default().push(number);
        }
        let mut cores: Vec<Vec<usize>> = cores.into_values().collect();
        cores.sort_unstable();
        let boundary = match (cores.len(), processors.len()) {
            (_, 0 | 1) => {
                let both = processors.to_vec();
                return Self { server: both.clone(), client: both, boundary: Boundary::None };
            }
            (1, _) => {
                cores = processors.iter().map(|&number| vec![number]).collect();
                Boundary::Threads
            }
            _ => Boundary::Cores,
        };
        let client = cores.split_off(cores.len() / 2);
        let sorted = |cores: Vec<Vec<usize>>| {
            let mut numbers = cores.concat();
            numbers.sort_unstable();
            numbers
        };
        Self { server: sorted(cores), client: sorted(client), boundary }
    }

    /// For the reader of a page.
    pub(super) fn facts(&self) -> [(String, String); 2] {
        let client = match self.boundary {
            Boundary::Cores => numbers(&self.client),
            Boundary::Threads => {
                format!("{}, of the same core as the server's", numbers(&self.client))
            }
            Boundary::None => {
                format!("{}, which is the server's too: it has but one", numbers(&self.client))
            }
        };
        let server = numbers(&self.server);
        [("server's processors".into(), server), ("client's processors".into(), client)]
    }
}

/// As taskset(1) takes them.
pub(super) fn numbers(processors: &[usize]) -> String {
    let numbers: Vec<String> = processors.iter().map(usize::to_string).collect();
    numbers.join(",")
}

/// As the files of the kernel take them: 32 to a word, the highest word first.
pub(super) fn mask(processors: &[usize]) -> String {
    let words = processors.iter().max().map_or(0, |most| most / 32) + 1;
    let word = |at: usize| {
        let here = processors.iter().filter(|&&number| number / 32 == at);
        here.fold(0_u32, |word, number| word | 1 << (number % 32))
    };
    let words: Vec<String> = (0..words).rev().map(|at| format!("{:08x}", word(at))).collect();
    words.join(",")
}

/// What the processors of one core have in common; each is a core where the machine does not say.
fn core(number: usize) -> String {
    let file = format!("/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list");
    fs::read_to_string(file).unwrap_or_else(|_| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_not_shared_where_it_can_be_helped() {
        let alone = |number: usize| number.to_string();
        let siblings = |number: usize| (number % 4).to_string();
        let neighbours = |number: usize| (number / 2).to_string();
        let one = |_| String::from("0");
        type Core<'c> = &'c dyn Fn(usize) -> String;
        type Row<'r> = (&'r [usize], Core<'r>, &'r [usize], &'r [usize], Boundary);
        let rows: [Row<'_>; 8] = [
            (&[0, 1], &alone, &[0], &[1], Boundary::Cores),
            (&[0], &alone, &[0], &[0], Boundary::None),
            (&[], &alone, &[], &[], Boundary::None),
            (&[0, 1], &one, &[0], &[1], Boundary::Threads),
            (&[3, 5, 7], &alone, &[3], &[5, 7], Boundary::Cores),
            (&[0, 1, 2, 3, 4, 5, 6, 7], &siblings, &[0, 1, 4, 5], &[2, 3, 6, 7], Boundary::Cores),
            (&[0, 1, 2, 3], &neighbours, &[0, 1], &[2, 3], Boundary::Cores),
            (&[2, 9, 10, 11], &alone, &[2, 9], &[10, 11], Boundary::Cores),
        ];
        for (processors, core_of, server, client, boundary) in rows {
            let split = Split::of(processors, core_of);
            let (server, client) = (server.to_vec(), client.to_vec());
            assert_eq!(split, Split { server, client, boundary }, "{processors:?}");
        }
    }

    #[test]
    fn masks_are_words() {
        let rows: [(&[usize], &str); 6] = [
            (&[], "00000000"),
            (&[0], "00000001"),
            (&[1, 2], "00000006"),
            (&[31], "80000000"),
            (&[0, 32], "00000001,00000001"),
            (&[64], "00000001,00000000,00000000"),
        ];
        for (processors, expected) in rows {
            assert_eq!(mask(processors), expected);
        }
    }
}
