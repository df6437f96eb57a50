//! The static part of SPECweb99 as Pariag07 3.2 and Brecht04 6.1 used it: directories of 36 files
//! in four classes, popular directories, keep-alive sessions of users who think.
//!
//! Distributions are those of the session logs that the papers' authors made with a generator of
//! their own (userver's genspec99sesslogs, 2003): class, file and directory are drawn independently
//! of each other. The papers' logs are finite and are repeated from their start, so that generator
//! added sessions until every class, file, directory and length was within 10 % of its frequency.
//! Here sessions are drawn without end and nothing is repeated. Drawn numbers come as near as that
//! by themselves (the rarest directory of 680 after about a million sessions), and a rule that
//! ends when a sample looks right would only make its numbers depend on each other.
//!
//! Left to choose: which pauses lie where (docs/workloads.md).

use measure::draw::{Stream, Weighted};

use crate::files::{File, FileId, Files};
use crate::session::Session;
use crate::source::model::{Model, Popularity};
use crate::source::{Made, Workload};

use super::pages::OffPeriods;
use super::settings::{Settings, Think};

/// Classes of a directory.
pub const CLASSES: u32 = 4;
/// Files of one class in one directory.
pub const FILES_EACH: u32 = 9;
/// Files of one directory.
pub const DIR_FILES: u32 = CLASSES * FILES_EACH;

/// Sizes of class 0: tenths of 1,024 rounded down. The others' sizes are 1 to 9 times 1,024, 10,240
/// and 102,400.
const CLASS_0_BYTES: [u64; FILES_EACH as usize] = [102, 204, 307, 409, 512, 614, 716, 819, 921];

/// How often each class is asked for.
const CLASS_SHARES: [f64; CLASSES as usize] = [0.35, 0.50, 0.14, 0.01];

/// How often each file of a class is. The frequencies that SPEC gives add up to 0.999; the papers'
/// generator gives the rest to the last one, whose own is 0.044.
const FILE_SHARES: [f64; FILES_EACH as usize] =
    [0.039, 0.059, 0.088, 0.177, 0.353, 0.118, 0.071, 0.050, 0.045];

/// Sessions of one request: as of a client of HTTP/1.0.
const SINGLE_SHARE: f64 = 0.3;
/// The others are uniform from here...
const LENGTH_MIN: u32 = 5;
/// ... to here.
const LENGTH_MAX: u32 = 15;

/// See the head of this file.
pub struct SpecWeb99 {
    files: Files,
    classes: Weighted,
    places: Weighted,
    dirs: Weighted,
    off: OffPeriods,
}

impl SpecWeb99 {
    /// With so many directories and these pauses.
    ///
    /// # Panics
    /// There are no directories.
    #[must_use]
    pub fn new(dirs: u32, off: OffPeriods) -> Self {
        Self {
            files: Files::new((0..dirs).flat_map(directory).collect(), true),
            classes: Weighted::new(CLASS_SHARES),
            places: Weighted::new(FILE_SHARES),
            dirs: Weighted::zipf(dirs, 1.0),
            off,
        }
    }

    fn file(&self, from: &mut Stream) -> FileId {
        let (place, class, dir) =
            (self.places.draw(from), self.classes.draw(from), self.dirs.draw(from));
        FileId(dir as u32 * DIR_FILES + class as u32 * FILES_EACH + place as u32)
    }
}

impl Workload for SpecWeb99 {
    fn files(&self) -> &Files {
        &self.files
    }

    fn session(&mut self, _: u64, sessions: &mut Stream, thinking: &mut Stream) -> Session {
        let length = if sessions.unit() < SINGLE_SHARE {
            1
        } else {
            LENGTH_MIN + sessions.below(LENGTH_MAX - LENGTH_MIN + 1)
        };
        self.off.session((0..length).map(|_| self.file(sessions)), thinking)
    }

    fn model(&self) -> Model {
        let dirs = self.files.count() / DIR_FILES as usize;
        let share = |dir, class, place| {
            let of_class = self.classes.probability(class) * self.places.probability(place);
            of_class * self.dirs.probability(dir)
        };
        let in_dir = |dir| {
            let places = move |class| (0..FILE_SHARES.len()).map(move |place| (class, place));
            (0..CLASS_SHARES.len()).flat_map(places).map(move |(c, p)| share(dir, c, p))
        };
        let of_many = f64::midpoint(f64::from(LENGTH_MIN), f64::from(LENGTH_MAX));
        Model {
            shares: (0..dirs).flat_map(in_dir).collect(),
            popularity: Some(Popularity {
                exponent: 1.0,
                of: "directories",
                files_each: DIR_FILES,
            }),
            requests: Some(SINGLE_SHARE + (1.0 - SINGLE_SHARE) * of_many),
            connections: Some(1.0),
            class_name: |class| format!("class {class}"),
            ..Model::default()
        }
    }
}

/// The files of one directory, class by class.
fn directory(dir: u32) -> impl Iterator<Item = File> {
    (0..DIR_FILES).map(move |file| {
        let (class, place) = (file / FILES_EACH, file % FILES_EACH);
        let bytes = match class {
            0 => CLASS_0_BYTES[place as usize],
            class => u64::from(place + 1) * 1_024 * 10_u64.pow(class - 1),
        };
        let target = format!("/specweb99/file_set/dir{dir:05}/class{class}_{place}").into();
        File { target, bytes: Some(bytes), class: class as u16 }
    })
}

pub(super) fn make(settings: &Settings) -> Made {
    let think = settings.think.unwrap_or(Think::Constant);
    let off = OffPeriods::new(think, OffPeriods::DRAWN, settings.think_scale);
    Ok(Box::new(SpecWeb99::new(settings.dirs, off)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSIONS: usize = 100_000;

    fn sampled(dirs: u32) -> (SpecWeb99, Vec<Session>) {
        let mut workload = SpecWeb99::new(dirs, OffPeriods::CONSTANT);
        let (mut sessions, mut thinking) = (Stream::new(42, 2), Stream::new(42, 3));
        let drawn = (0..SESSIONS).map(|_| workload.session(0, &mut sessions, &mut thinking));
        let drawn = drawn.collect();
        (workload, drawn)
    }

    fn asked(sessions: &[Session]) -> impl Iterator<Item = FileId> {
        let bursts = sessions.iter().flat_map(|session| &session.bursts);
        bursts.flat_map(|burst| &burst.requests).map(|request| request.file)
    }

    #[test]
    fn files_are_those_of_the_benchmark() {
        // Directories, files and bytes: Pariag07 3.2 says 24,480 files and 3.2 GB.
        for (dirs, count, bytes) in
            [(1, 36, 5_119_484), (680, 24_480, 3_481_249_120), (20_000, 720_000, 102_389_680_000)]
        {
            let workload = SpecWeb99::new(dirs, OffPeriods::NONE);
            assert_eq!(workload.files().count(), count);
            let sum: u64 = workload.files().iter().filter_map(|(_, file)| file.bytes).sum();
            assert_eq!(sum, bytes, "{dirs} directories");
        }
        let workload = SpecWeb99::new(680, OffPeriods::NONE);
        let rows = [
            (0, "/specweb99/file_set/dir00000/class0_0", 102, 0),
            (8, "/specweb99/file_set/dir00000/class0_8", 921, 0),
            (9, "/specweb99/file_set/dir00000/class1_0", 1_024, 1),
            (35, "/specweb99/file_set/dir00000/class3_8", 921_600, 3),
            (24_479, "/specweb99/file_set/dir00679/class3_8", 921_600, 3),
        ];
        for (id, target, bytes, class) in rows {
            let expected = File { target: target.into(), bytes: Some(bytes), class };
            assert_eq!(*workload.files().file(FileId(id)), expected);
        }
    }

    /// What is counted, what of each request or session is, and how often each value is to come.
    #[test]
    fn every_frequency_is_within_the_tolerance_of_the_papers_generator() {
        const TOLERANCE: f64 = 0.1;
        let (_, sessions) = sampled(40);
        let files: Vec<u32> = asked(&sessions).map(|file| file.0).collect();
        let lengths: Vec<u32> = sessions.iter().map(|session| session.requests() as u32).collect();
        let harmonic: f64 = (1..=40).map(|rank| 1.0 / f64::from(rank)).sum();
        let length_shares = (0..=LENGTH_MAX).map(|length| match length {
            1 => 0.3,
            LENGTH_MIN..=LENGTH_MAX => 0.7 / 11.0,
            _ => 0.0,
        });
        type Rows<'r> = (&'r str, &'r [u32], fn(u32) -> u32, Vec<f64>);
        let rows: [Rows; 4] = [
            ("class", &files, |file| file % DIR_FILES / FILES_EACH, CLASS_SHARES.into()),
            ("file", &files, |file| file % FILES_EACH, FILE_SHARES.into()),
            (
                "directory",
                &files,
                |file| file / DIR_FILES,
                (1..=40).map(|rank| 1.0 / harmonic / f64::from(rank)).collect(),
            ),
            ("length", &lengths, |length| length, length_shares.collect()),
        ];
        for (what, values, of, shares) in rows {
            let mut counts = vec![0_u32; shares.len()];
            values.iter().for_each(|value| counts[of(*value) as usize] += 1);
            for (at, (count, share)) in counts.iter().zip(shares).enumerate() {
                let seen = f64::from(*count) / values.len() as f64;
                let off = (seen - share).abs();
                assert!(off <= share * TOLERANCE, "{what} {at}: {seen}, not {share}");
            }
        }
    }

    #[test]
    fn means_are_those_of_the_papers() {
        let (workload, sessions) = sampled(680);
        let count = sessions.len() as f64;
        let requests = asked(&sessions).count() as f64;
        let bytes: u64 =
            asked(&sessions).filter_map(|file| workload.files().file(file).bytes).sum();
        // The mean reply is 14,711 bytes if the thousandth that SPEC's frequencies lack asks for
        // nothing, and 14,739 as it is here.
        let reply = bytes as f64 / requests;
        assert!((reply / 14_711.0 - 1.0).abs() < 0.01, "{reply}");
        // Brecht04 6.1 has 7.2 requests of a connection.
        let length = requests / count;
        assert!((length - 7.3).abs() < 0.03, "{length}");
        let pages: usize = sessions.iter().map(|session| session.bursts.len()).sum();
        let pauses = sessions.iter().flat_map(|session| &session.bursts).map(|burst| {
            let within = burst.requests.iter().map(|request| request.pause.as_secs_f64());
            burst.think.as_secs_f64() + within.sum::<f64>()
        });
        let pauses: f64 = pauses.sum();
        // Around 930 Mb/s, and 960 at most, at 10,000 connections (Pariag07 4.4) are 9.2 to 8.9 s
        // of each session by Little's law.
        let holding = pauses / count;
        assert!((8.7..9.3).contains(&holding), "{holding}");
        let pages = pages as f64 / count;
        assert!((3.45..3.65).contains(&pages), "{pages}");
    }

    #[test]
    fn the_model_gives_the_same_without_drawing() {
        let workload = SpecWeb99::new(680, OffPeriods::CONSTANT);
        let model = workload.model();
        let by_class = |class| {
            let files = workload.files().iter().zip(&model.shares);
            files.filter(move |((_, file), _)| file.class == class)
        };
        // Shares of requests, and of bytes in percent.
        for (class, share, bytes_percent) in
            [(0, 0.35, 1.2), (1, 0.50, 17.0), (2, 0.14, 47.7), (3, 0.01, 34.1)]
        {
            let requests: f64 = by_class(class).map(|(_, share)| share).sum();
            assert!((requests - share).abs() < 1e-9, "class {class}: {requests}");
            let size = |file: &File| file.bytes.expect("it is known") as f64;
            let bytes: f64 = by_class(class).map(|((_, file), share)| size(file) * share).sum();
            let percent = bytes / 14_738.6 * 100.0;
            assert!((percent - bytes_percent).abs() < 0.1, "class {class}: {percent} %");
        }
    }
}
