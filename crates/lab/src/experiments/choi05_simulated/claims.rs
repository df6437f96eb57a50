//! What the paper says of its figures 5 to 8.

use super::advantage::{ADVANTAGE, Advantage};
use super::{At, DISK, LOCK_WAIT, Said, Than};
use crate::claim::Says;
use crate::metric;

use Says::{About, Alike, Less, More, NoLess, NoMore};

const MP: &str = "MP";
const MT: &str = "MT";
const SPED: &str = "SPED";
const AMPED: &str = "AMPED";
const PIPELINED: &str = "PIPELINED";

/// All but MP, with 16.
const BUT_MP: &[At] = &[(MT, 16), (SPED, 16), (AMPED, 16), (PIPELINED, 16)];

pub(super) const CLAIMS: &[Said] = &[
    mbit("5a", "beyond 100 MB MP's bandwidth drops", (MP, 150), Less, &[(MP, 80)]),
    mbit("5a", "MT's too", (MT, 150), Less, &[(MT, 80)]),
    mbit("5a", "SPED's too", (SPED, 150), Less, &[(SPED, 80)]),
    mbit("5a", "AMPED's too", (AMPED, 150), Less, &[(AMPED, 80)]),
    mbit(
        "5a",
        "MP has less than the others",
        (MP, 150),
        Less,
        &[(MT, 150), (SPED, 150), (AMPED, 150)],
    ),
    mbit("5b", "MP's bandwidth drops slowly beyond 200 clients", (MP, 500), Less, &[(MP, 200)]),
    mbit(
        "5b",
        "MP has less than the others",
        (MP, 500),
        Less,
        &[(MT, 500), (SPED, 500), (AMPED, 500)],
    ),
    said("6a", "PIPELINED answers more than MT", (PIPELINED, 16), More, &[(MT, 16)]),
    said("6a", "up to 30 % more", (PIPELINED, 16), About(130), &[(MT, 16)]),
    said("6a", "and than SPED", (PIPELINED, 16), About(130), &[(SPED, 16)]),
    said("6a", "and than AMPED", (PIPELINED, 16), About(130), &[(AMPED, 16)]),
    grows("6a", "its advantage over MT grows with processors", MT, 16, ("6a", 4)),
    grows("6a", "so does that over SPED", SPED, 16, ("6a", 4)),
    grows("6a", "so does that over AMPED", AMPED, 16, ("6a", 4)),
    said(
        "6a",
        "PIPELINED answers more than SPED and AMPED",
        (PIPELINED, 16),
        More,
        &[(SPED, 16), (AMPED, 16)],
    ),
    said("6a", "SPED answers less than AMPED", (SPED, 16), Less, &[(AMPED, 16)]),
    said("6a", "MP is the worst", (MP, 16), Less, BUT_MP),
    said(
        "6b",
        "up to 3 processors AMPED is the best: with one",
        (AMPED, 1),
        More,
        &[(MP, 1), (MT, 1), (SPED, 1), (PIPELINED, 1)],
    ),
    said(
        "6b",
        "up to 3 processors AMPED is the best: with two",
        (AMPED, 2),
        More,
        &[(MP, 2), (MT, 2), (SPED, 2), (PIPELINED, 2)],
    ),
    said(
        "6b",
        "up to 3 processors AMPED is the best: with three",
        (AMPED, 3),
        More,
        &[(MP, 3), (MT, 3), (SPED, 3), (PIPELINED, 3)],
    ),
    said(
        "6b",
        "beyond that PIPELINED is: with four",
        (PIPELINED, 4),
        More,
        &[(MP, 4), (MT, 4), (SPED, 4), (AMPED, 4)],
    ),
    said(
        "6b",
        "and with 16",
        (PIPELINED, 16),
        More,
        &[(MP, 16), (MT, 16), (SPED, 16), (AMPED, 16)],
    ),
    said("6b", "MP is the worst", (MP, 16), Less, BUT_MP),
    said(
        "6c",
        "up to 8 processors SPED is level with PIPELINED",
        (SPED, 8),
        Alike,
        &[(PIPELINED, 8)],
    ),
    said(
        "6c",
        "up to 8 processors AMPED is level with PIPELINED",
        (AMPED, 8),
        Alike,
        &[(PIPELINED, 8)],
    ),
    said("6c", "beyond 9 SPED drops", (SPED, 16), Less, &[(SPED, 9), (PIPELINED, 16)]),
    said("6c", "beyond 9 AMPED drops", (AMPED, 16), Less, &[(AMPED, 9), (PIPELINED, 16)]),
    said("6c", "MT answers less than PIPELINED", (MT, 16), Less, &[(PIPELINED, 16)]),
    said("6c", "MP is the worst", (MP, 16), Less, BUT_MP),
    said(
        "6c-clarknet",
        "Clarknet is like Penn State: MT answers less than PIPELINED",
        (MT, 16),
        Less,
        &[(PIPELINED, 16)],
    ),
    said(
        "6c-clarknet",
        "Clarknet: up to 8 processors SPED is level with PIPELINED",
        (SPED, 8),
        Alike,
        &[(PIPELINED, 8)],
    ),
    said(
        "6c-clarknet",
        "Clarknet: up to 8 processors AMPED is level with PIPELINED",
        (AMPED, 8),
        Alike,
        &[(PIPELINED, 8)],
    ),
    said(
        "6c-clarknet",
        "Clarknet: beyond 9 SPED drops",
        (SPED, 16),
        Less,
        &[(SPED, 9), (PIPELINED, 16)],
    ),
    said(
        "6c-clarknet",
        "Clarknet: beyond 9 AMPED drops",
        (AMPED, 16),
        Less,
        &[(AMPED, 9), (PIPELINED, 16)],
    ),
    said("6c-clarknet", "Clarknet: MP is the worst", (MP, 16), Less, BUT_MP),
    said("6d", "MT does as well as PIPELINED", (MT, 16), Alike, &[(PIPELINED, 16)]),
    said(
        "6d",
        "PIPELINED answers more than SPED and AMPED",
        (PIPELINED, 16),
        More,
        &[(SPED, 16), (AMPED, 16)],
    ),
    Said {
        there: &["6a", "6b", "6c", "6c-clarknet", "6d-nasa"],
        ..said(
            "6d",
            "most is answered with WorldCup98's trace",
            (PIPELINED, 16),
            More,
            &[(PIPELINED, 16)],
        )
    },
    said("6d", "MP is the worst", (MP, 16), Less, BUT_MP),
    said(
        "6d-nasa",
        "NASA is like WorldCup98: MT does as well as PIPELINED",
        (MT, 16),
        Alike,
        &[(PIPELINED, 16)],
    ),
    said(
        "6d-nasa",
        "NASA: PIPELINED answers more than SPED and AMPED",
        (PIPELINED, 16),
        More,
        &[(SPED, 16), (AMPED, 16)],
    ),
    said("6d-nasa", "NASA: MP is the worst", (MP, 16), Less, BUT_MP),
    said(
        "7a",
        "SPED has its peak at 5: 4 answer more than 9, 12 and 16",
        (SPED, 4),
        More,
        &[(SPED, 9), (SPED, 12), (SPED, 16)],
    ),
    said("7a", "SPED's 4 answer more than 1, too", (SPED, 4), More, &[(SPED, 1)]),
    said(
        "7a",
        "AMPED has its peak at 5: 4 answer more than 9, 12 and 16",
        (AMPED, 4),
        More,
        &[(AMPED, 9), (AMPED, 12), (AMPED, 16)],
    ),
    said("7a", "AMPED's 4 answer more than 1, too", (AMPED, 4), More, &[(AMPED, 1)]),
    said("7a", "MT is steady: 16 are as good as 6", (MT, 16), Alike, &[(MT, 6)]),
    said("7a", "so is PIPELINED", (PIPELINED, 16), Alike, &[(PIPELINED, 6)]),
    said(
        "7a",
        "PIPELINED is the best",
        (PIPELINED, 16),
        More,
        &[(MP, 16), (MT, 16), (SPED, 16), (AMPED, 16)],
    ),
    said("7a", "MP is the worst", (MP, 16), Less, BUT_MP),
    full("7a", "the disk is the limit of all: of MP", (MP, 16)),
    full("7a", "of MT", (MT, 16)),
    full("7a", "of SPED", (SPED, 16)),
    full("7a", "of AMPED", (AMPED, 16)),
    full("7a", "and of PIPELINED", (PIPELINED, 16)),
    said(
        "7b",
        "PIPELINED answers more than SPED and AMPED",
        (PIPELINED, 16),
        More,
        &[(SPED, 16), (AMPED, 16)],
    ),
    said("7b", "MP is the worst", (MP, 16), Less, BUT_MP),
    Said {
        there: &["7a"],
        ..said("7b", "MP answers drastically more than with 1 GB", (MP, 16), More, &[(MP, 16)])
    },
    Said { there: &["7a"], ..said("7b", "so does MT", (MT, 16), More, &[(MT, 16)]) },
    Said { there: &["7a"], ..said("7b", "so does SPED", (SPED, 16), More, &[(SPED, 16)]) },
    Said { there: &["7a"], ..said("7b", "so does AMPED", (AMPED, 16), More, &[(AMPED, 16)]) },
    Said {
        there: &["7a"],
        ..said("7b", "so does PIPELINED", (PIPELINED, 16), More, &[(PIPELINED, 16)])
    },
    said(
        "7c",
        "beyond 12 the disk is the limit of SPED: 16 answer no more",
        (SPED, 16),
        NoMore,
        &[(SPED, 12)],
    ),
    said(
        "7c",
        "beyond 12 the disk is the limit of AMPED: 16 answer no more",
        (AMPED, 16),
        NoMore,
        &[(AMPED, 12)],
    ),
    full("7c", "the disk is SPED's bottleneck with 16", (SPED, 16)),
    full("7c", "and AMPED's", (AMPED, 16)),
    said("7c", "MP is the worst", (MP, 16), Less, BUT_MP),
    grows(
        "7b",
        "PIPELINED's advantage over SPED grows with memory, from 1 GB",
        SPED,
        16,
        ("7a", 16),
    ),
    grows("7b", "that over AMPED too", AMPED, 16, ("7a", 16)),
    grows(
        "7c",
        "PIPELINED's advantage over SPED grows with memory, from 2 GB",
        SPED,
        16,
        ("7b", 16),
    ),
    grows("7c", "that over AMPED too", AMPED, 16, ("7b", 16)),
    // Figure 7d is figure 6a.
    Said {
        figure: Some("7d"),
        ..said("6a", "with 4 GB the disk is the limit of MP", (MP, 16), NoMore, &[(MP, 12)])
    },
    Said {
        figure: Some("7d"),
        ..said(
            "6a",
            "of MP alone: MT answers more with 16 than with 12",
            (MT, 16),
            More,
            &[(MT, 12)],
        )
    },
    Said { figure: Some("7d"), ..said("6a", "so does SPED", (SPED, 16), More, &[(SPED, 12)]) },
    Said { figure: Some("7d"), ..said("6a", "so does AMPED", (AMPED, 16), More, &[(AMPED, 12)]) },
    Said {
        figure: Some("7d"),
        ..said("6a", "so does PIPELINED", (PIPELINED, 16), More, &[(PIPELINED, 12)])
    },
    Said { figure: Some("7d"), ..full("6a", "the disk is MP's bottleneck", (MP, 16)) },
    Said { figure: Some("7d"), ..spare("6a", "and not MT's", (MT, 16)) },
    Said { figure: Some("7d"), ..spare("6a", "nor SPED's", (SPED, 16)) },
    Said { figure: Some("7d"), ..spare("6a", "nor AMPED's", (AMPED, 16)) },
    Said { figure: Some("7d"), ..spare("6a", "nor PIPELINED's", (PIPELINED, 16)) },
    Said {
        figure: Some("7d"),
        ..grows(
            "6a",
            "PIPELINED's advantage over SPED grows with memory, from 3 GB",
            SPED,
            16,
            ("7c", 16),
        )
    },
    Said { figure: Some("7d"), ..grows("6a", "that over AMPED too", AMPED, 16, ("7c", 16)) },
    Said {
        figure: Some("7d"),
        ..said(
            "6a",
            "PIPELINED answers 32 % more than MT",
            (PIPELINED, 16),
            About(132),
            &[(MT, 16)],
        )
    },
    said("8a", "PIPELINED answers more than MT", (PIPELINED, 16), More, &[(MT, 16)]),
    said("8a", "up to 12 % more", (PIPELINED, 16), About(112), &[(MT, 16)]),
    said("8a", "MP is the worst", (MP, 16), Less, BUT_MP),
    said("8b", "PIPELINED answers more than MT", (PIPELINED, 16), More, &[(MT, 16)]),
    grows("8b", "its advantage grows with clients, from 500", MT, 16, ("8a", 16)),
    said("8b", "MP is the worst", (MP, 16), Less, BUT_MP),
    said("8c", "PIPELINED answers more than MT", (PIPELINED, 16), More, &[(MT, 16)]),
    said("8c", "by 18 %", (PIPELINED, 16), About(118), &[(MT, 16)]),
    said("8c", "MP is the worst", (MP, 16), Less, BUT_MP),
    said("8d", "PIPELINED answers more than MT", (PIPELINED, 16), More, &[(MT, 16)]),
    said("8d", "by 26 %", (PIPELINED, 16), About(126), &[(MT, 16)]),
    grows("8d", "its advantage grows with clients, from 500", MT, 16, ("8a", 16)),
    Said {
        metric: &LOCK_WAIT,
        there: &["8a"],
        ..said(
            "8d",
            "MT's threads wait longer for locks than with 500 clients",
            (MT, 16),
            More,
            &[(MT, 16)],
        )
    },
    Said {
        metric: &LOCK_WAIT,
        there: &["8a"],
        ..said("8d", "20 % longer", (MT, 16), About(120), &[(MT, 16)])
    },
    said("8d", "MP is the worst", (MP, 16), Less, BUT_MP),
];

const fn said(
    chart: &'static str,
    paper: &'static str,
    of: At,
    says: Says,
    beside: &'static [At],
) -> Said {
    Said {
        paper,
        chart,
        of,
        says,
        beside,
        metric: &metric::REPLIES,
        there: &[],
        than: Than::Others,
        figure: None,
    }
}

/// In what the validation of the paper is measured (5.3).
const fn mbit(
    chart: &'static str,
    paper: &'static str,
    of: At,
    says: Says,
    beside: &'static [At],
) -> Said {
    Said { metric: &metric::SERVER_MBIT, ..said(chart, paper, of, says, beside) }
}

/// The disk never rests,
const fn full(chart: &'static str, paper: &'static str, of: At) -> Said {
    Said { metric: &DISK, than: Than::FullDisk, ..said(chart, paper, of, NoLess, &[]) }
}

/// or it does.
const fn spare(chart: &'static str, paper: &'static str, of: At) -> Said {
    Said { says: Less, ..full(chart, paper, of) }
}

/// PIPELINED has a greater part of what that model has than there.
const fn grows(
    chart: &'static str,
    paper: &'static str,
    over: &'static str,
    x: u32,
    there: (&'static str, u32),
) -> Said {
    let claim = said(chart, paper, (PIPELINED, x), More, &[]);
    Said { metric: &ADVANTAGE, than: Than::Advantage(Advantage { over, there }), ..claim }
}
