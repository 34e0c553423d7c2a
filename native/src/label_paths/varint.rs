//! Numbers in as few bytes as they need: seven bits a byte, least significant first.

/// Appends a number.
pub(super) fn write(number: u64, to: &mut Vec<u8>) {
    let mut rest = number;
    while rest >= 0x80 {
        to.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    to.push(rest as u8);
}

/// Removes a number from the front of the bytes; `None` if there is none in its shortest form.
pub(super) fn read(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            // A zero at the end could have been left out.
            return (byte != 0 || shift == 0).then_some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive() {
        for number in [0, 1, 127, 128, 300, 1 << 20, u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            write(number, &mut bytes);
            let mut rest = &bytes[..];
            assert_eq!(read(&mut rest), Some(number));
            assert!(rest.is_empty());
        }
    }

    #[test]
    fn truncated_overlong_and_large_numbers_are_refused() {
        let too_large: &[u8] = &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        for bytes in [&[][..], &[0x80], &[0x81, 0x00], too_large, &[0x80; 11]] {
            assert_eq!(read(&mut &bytes[..]), None);
        }
    }
}
