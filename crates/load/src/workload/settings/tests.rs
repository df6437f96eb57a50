use super::*;

#[test]
fn a_knob_takes_what_it_says() {
    let (few, many) = ("a whole number from 1 to 20000", "a number from 0 to 1000");
    let (files, is_share) = ("a whole number from 1 to 4194304", "a share from 0 to 1");
    // What it shows then, or what it wants instead.
    let rows = [
        ("dirs", "1", Ok("1")),
        ("dirs", "20000", Ok("20000")),
        ("dirs", "0", Err(few)),
        ("dirs", "many", Err(few)),
        ("files", "300", Ok("300")),
        ("files", "4194304", Ok("4194304")),
        ("files", "-1", Err(files)),
        ("pages", "1001", Err("a whole number from 1 to 1000")),
        ("bytes", "0", Ok("0")),
        ("bytes", "1048577", Err("a whole number from 0 to 1048576")),
        ("largest-percent", "10", Ok("10")),
        ("largest-percent", "101", Err("a number from 0 to 100")),
        ("think", "drawn", Ok("drawn")),
        ("think", "hard", Err("constant, drawn or none")),
        ("think-scale", "0.25", Ok("0.25")),
        ("think-scale", "NaN", Err(many)),
        ("think-scale", "-1", Err(many)),
        ("default-think", "1.5", Ok("1.5")),
        ("default-think", "86401", Err("a number from 0 to 86400")),
        ("session-gap", "60", Ok("60")),
        ("session-gap", "3601", Err("a number from 0 to 3600")),
        ("speed", "10", Ok("10")),
        ("pauses", "off", Ok("off")),
        ("pauses", "no", Err("one of on, off")),
        ("speed", "0", Err("a number from 0.001 to 1000000")),
        ("site", "made", Ok("made")),
        ("site", "own", Ok("own")),
        ("site", "yes", Err("own or made")),
        ("trace-scale", "0.1", Ok("0.1")),
        ("trace-scale", "0", Err("a number from 0.001 to 100")),
        ("mean-bytes", "9840.5", Ok("9840.5")),
        ("mean-bytes", "99", Err("a number from 100 to 1000000000000")),
        ("requests", "1383211", Ok("1383211")),
        ("requests", "0", Err("a whole number from 1 to 18446744073709551615")),
        ("cache-mb", "0.5", Ok("0.5")),
        ("cache-mb", "0", Err("a number from 0.000001 to 1000000000")),
        ("hits", "0.883", Ok("0.883")),
        ("hits", "88.3", Err(is_share)),
        ("recency", "0", Ok("0")),
        ("recency", "-0.1", Err(is_share)),
        ("session-requests", "7", Ok("7")),
        ("session-requests", "1001", Err("a whole number from 1 to 1000")),
    ];
    for (name, value, expected) in rows {
        let mut settings = Settings::default();
        let told = settings.set(name, value);
        let show = KNOBS.iter().find(|knob| knob.name == name).expect("it exists").show;
        let seen = told.map(|()| show(&settings));
        let expected = match expected {
            Ok(shown) => Ok(String::from(shown)),
            Err(wanted) => Err(format!("--{name} {value}: has to be {wanted}")),
        };
        assert_eq!(seen, expected, "--{name} {value}");
    }
    let told = Settings::default().set("depth", "1");
    assert_eq!(told, Err(String::from("there is no knob depth")));
}
