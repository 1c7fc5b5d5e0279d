//! A string built in const evaluation, for the messages of failed checks.

/// A bounded string that can be built in const evaluation; text beyond the bound is cut.
#[derive(Clone, Copy)]
pub struct Text {
    bytes: [u8; Text::CAPACITY],
    len: usize,
}

impl Text {
    /// Bytes a message may have.
    pub const CAPACITY: usize = 640;

    /// The empty text.
    pub const fn new() -> Self {
        Text { bytes: [0; Self::CAPACITY], len: 0 }
    }

    /// This text followed by `s`.
    pub const fn str(mut self, s: &str) -> Self {
        let bytes = s.as_bytes();
        // A cut must not split a character: take all of `s` or nothing.
        if self.len + bytes.len() > Self::CAPACITY {
            return self;
        }
        let mut i = 0;
        while i < bytes.len() {
            self.bytes[self.len] = bytes[i];
            self.len += 1;
            i += 1;
        }
        self
    }

    /// This text followed by `n` in decimal.
    pub const fn int(mut self, n: i64) -> Self {
        if n < 0 {
            self = self.str("-");
        }
        let n = n.unsigned_abs();
        let mut unit = 1;
        while n / unit >= 10 {
            unit *= 10;
        }
        while unit > 0 && self.len < Self::CAPACITY {
            self.bytes[self.len] = b'0' + (n / unit % 10) as u8;
            self.len += 1;
            unit /= 10;
        }
        self
    }

    /// The text so far.
    pub const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(s) => s,
            Err(_) => "",
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::new()
    }
}

/// Byte order of two strings, in const evaluation: negative, zero or positive.
pub const fn compare(a: &str, b: &str) -> i32 {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if a[i] != b[i] {
            return a[i] as i32 - b[i] as i32;
        }
        i += 1;
    }
    a.len() as i32 - b.len() as i32
}

/// Whether two strings are equal, in const evaluation.
pub const fn same(a: &str, b: &str) -> bool {
    compare(a, b) == 0
}

impl core::fmt::Debug for Text {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.as_str().fmt(f)
    }
}
