use super::*;

const STATE: u32 = 64;
const OUTER: u32 = 512;
const INPUT: u32 = 1024;
const OUTPUT: u32 = 2048;

/// A memory in which requests are made.
struct Guest(Vec<u8>);

impl Guest {
    fn new() -> Guest {
        Guest(vec![0; 4096])
    }

    fn ask(&mut self, words: [u32; WORDS]) -> Result<(), Refused> {
        let mut memory = GuestMemory::new(&mut self.0);
        for (index, word) in (0..).zip(words) {
            memory.write_u32(index * 4, word).unwrap();
        }
        run(memory, 0)
    }

    fn put(&mut self, address: u32, bytes: &[u8]) {
        GuestMemory::new(&mut self.0).write(address, bytes).unwrap();
    }

    fn start(&mut self, algorithm: u32, state: u32, data: &[u8]) {
        self.put(INPUT, data);
        self.ask([START, algorithm, state, INPUT, data.len() as u32, 0, 0]).unwrap();
    }

    fn finish(&mut self, algorithm: u32, state: u32, bytes: u32) -> String {
        self.ask([FINISH, algorithm, state, 0, 0, OUTPUT, bytes]).unwrap();
        let digest = &self.0[OUTPUT as usize..(OUTPUT + bytes) as usize];
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The digests of `abc` from the standards that define the algorithms (RFC 1321, FIPS 180-4, FIPS 202, GB/T 32905,
/// the paper on RIPEMD-160), shortened.
const OF_ABC: [(u32, &str); 16] = [
    (16, "900150983cd24fb0"),
    (20, "a9993e364706816a"),
    (28, "23097d223405d822"),
    (32, "ba7816bf8f01cfea"),
    (48, "cb00753f45a35e8b"),
    (64, "ddaf35a193617aba"),
    (28, "4634270f707b6a54"),
    (32, "53048e2681941ef9"),
    (28, "e642824c3f8cf24a"),
    (32, "3a985da74fe225b2"),
    (48, "ec01498288516fc9"),
    (64, "b751850b1a57168a"),
    (16, "5881092dd818bf5c"),
    (32, "483366601360a877"),
    (20, "8eb208f7e05d987a"),
    (32, "66c7f0f462eeedd9"),
];

#[test]
fn digests_are_those_of_the_standards() {
    let mut guest = Guest::new();
    for (algorithm, (bytes, digest)) in (0..).zip(OF_ABC) {
        guest.start(algorithm, STATE, b"ab");
        // A digest in between changes nothing.
        guest.finish(algorithm, STATE, bytes);
        guest.put(INPUT, b"c");
        guest.ask([UPDATE, algorithm, STATE, INPUT, 1, 0, 0]).unwrap();
        assert!(guest.finish(algorithm, STATE, bytes).starts_with(digest), "{algorithm}");
    }
}

/// RFC 6070, the second case: PBKDF2 with HMAC-SHA-1, two rounds.
#[test]
fn rounds_are_those_of_pbkdf2() {
    let mut guest = Guest::new();
    let key = |pad: u8| {
        let mut block = [pad; 64];
        block.iter_mut().zip(b"password").for_each(|(byte, key)| *byte ^= key);
        block
    };
    guest.start(1, STATE, &key(0x36));
    guest.start(1, OUTER, &key(0x5c));
    // The first round, HMAC of the salt and the block's number, is the guest's.
    let first = [
        0x0c, 0x60, 0xc8, 0x0f, 0x96, 0x1f, 0x0e, 0x71, 0xf3, 0xa9, 0xb5, 0x24, 0xaf, 0x60, 0x12, 0x06, 0x2f, 0xe0,
        0x37, 0xa6,
    ];
    guest.put(OUTPUT, &[first, first].concat());
    guest.ask([ROUNDS, 1, STATE, OUTER, 1, OUTPUT, 40]).unwrap();
    let expected = [
        0xea, 0x6c, 0x01, 0x4d, 0xc7, 0x2d, 0x6f, 0x8c, 0xcd, 0x1e, 0xd9, 0x2a, 0xce, 0x1d, 0x41, 0xf0, 0xd8, 0xde,
        0x89, 0x57,
    ];
    assert_eq!(guest.0[OUTPUT as usize + 20..][..20], expected);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut guest = Guest::new();
    guest.start(3, STATE, b"");
    let unknown = ALGORITHMS.len() as u32;
    for words in [
        [START, unknown, STATE, 0, 0, 0, 0],
        [4, 3, STATE, 0, 0, OUTPUT, 32],
        // Outside of the memory.
        [START, 3, 4000, 0, 0, 0, 0],
        [START, 3, STATE, 4000, 97, 0, 0],
        [UPDATE, 3, u32::MAX, INPUT, 1, 0, 0],
        [UPDATE, 3, STATE, 4000, 97, 0, 0],
        [UPDATE, 3, STATE, u32::MAX, u32::MAX, 0, 0],
        [FINISH, 3, STATE, 0, 0, 4090, 32],
        [ROUNDS, 3, STATE, u32::MAX, 1, OUTPUT, 64],
        // Other sizes than the algorithm's.
        [FINISH, 3, STATE, 0, 0, OUTPUT, 31],
        [ROUNDS, 3, STATE, STATE, 1, OUTPUT, 32],
        [ROUNDS, 12, STATE, STATE, 1, OUTPUT, 64],
        // More than a call may take.
        [START, 3, STATE, 0, MAX_BYTES + 1, 0, 0],
        [UPDATE, 3, STATE, 0, MAX_BYTES + 1, 0, 0],
        [ROUNDS, 3, STATE, STATE, MAX_ROUNDS + 1, OUTPUT, 64],
        [FINISH, 12, STATE, 0, 0, 0, MAX_OUTPUT + 1],
    ] {
        assert_eq!(guest.ask(words), Err(Refused), "{words:?}");
    }
    // A state that no hasher can have: more bytes waiting than a block has.
    guest.put(STATE, &[0xff; STATE_BYTES]);
    assert_eq!(guest.ask([UPDATE, 3, STATE, INPUT, 1, 0, 0]), Err(Refused));
    assert_eq!(guest.ask([FINISH, 11, STATE, 0, 0, OUTPUT, 64]), Err(Refused));
}
