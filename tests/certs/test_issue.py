"""The certificates themselves: what stands in them, and that TLS clients take them."""

from __future__ import annotations

from datetime import timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from certs.authority import is_ours, read_authority
from certs.issue import Issuer, SystemRandomness, service_names
from tests.certs.kit import DAY, NAMES, NOW, Clock

HOUR = timedelta(hours=1)


@pytest.fixture
def issuer(clock: Clock) -> Issuer:
    return Issuer((*NAMES, "10.0.0.1", "::1"), clock=clock)


def leaf_of(issuer: Issuer) -> x509.Certificate:
    return x509.load_pem_x509_certificate(issuer.leaf(issuer.authority()).pair.chain_pem)


def test_a_service_has_four_names() -> None:
    assert service_names("webhook", "gpu", "k8s.example") == (
        "webhook",
        "webhook.gpu",
        "webhook.gpu.svc",
        "webhook.gpu.svc.k8s.example",
    )


def test_a_leaf_is_good_for_its_names_and_addresses_and_for_tls_servers_only(issuer: Issuer) -> None:
    leaf = leaf_of(issuer)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert tuple(names.get_values_for_type(x509.DNSName)) == NAMES
    assert names.get_values_for_type(x509.IPAddress) == [ip_address("10.0.0.1"), ip_address("::1")]
    usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_keys_are_ecdsa_on_p256(issuer: Issuer) -> None:
    for certificate in (leaf_of(issuer), issuer.authority().certificate):
        key = certificate.public_key()
        assert isinstance(key, ec.EllipticCurvePublicKey)
        assert key.curve.name == "secp256r1"


def test_a_leaf_lives_seven_days_a_ca_a_year_and_both_began_a_day_ago(issuer: Issuer) -> None:
    authority = issuer.authority()
    leaf = issuer.leaf(authority)
    assert (leaf.pair.not_before, leaf.pair.not_after) == (NOW - DAY, NOW + 7 * DAY)
    assert (authority.certificate.not_valid_before_utc, authority.not_after) == (NOW - DAY, NOW + 365 * DAY)


def test_both_are_renewed_after_two_thirds_of_their_life(issuer: Issuer) -> None:
    authority = issuer.authority()
    assert issuer.leaf(authority).renew_at == NOW + 7 * DAY * 2 / 3
    assert authority.renew_at == NOW + 365 * DAY * 2 / 3


def test_a_leaf_ends_with_its_ca_at_the_latest(issuer: Issuer, clock: Clock) -> None:
    authority = issuer.authority()
    clock.advance(364 * DAY)
    assert issuer.leaf(authority).pair.not_after == authority.not_after


def test_serial_numbers_are_random_positive_and_short_enough(issuer: Issuer) -> None:
    serials = {issuer.authority().certificate.serial_number for _ in range(50)}
    assert len(serials) == 50
    assert all(0 < SystemRandomness().serial() < 1 << 159 for _ in range(1000))


def test_injected_randomness_makes_the_numbers(clock: Clock) -> None:
    class Counting(SystemRandomness):
        def __init__(self) -> None:
            self.count = 0x41

        def serial(self) -> int:
            self.count += 1
            return self.count

    issuer = Issuer(NAMES, clock=clock, randomness=Counting())
    authority = issuer.authority()
    assert authority.certificate.serial_number == 0x42
    assert authority.certificate.subject.rfc4514_string() == "CN=hami-dra-webhook CA 00000042"
    assert is_ours(authority.certificate)


def test_a_ca_signs_leaves_and_no_further_cas(issuer: Issuer) -> None:
    extensions = issuer.authority().certificate.extensions
    basic = extensions.get_extension_for_class(x509.BasicConstraints).value
    assert (basic.ca, basic.path_length) == (True, 0)
    usage = extensions.get_extension_for_class(x509.KeyUsage).value
    assert usage.key_cert_sign
    assert not usage.digital_signature


def test_a_leaf_is_signed_by_its_ca_and_points_at_its_key(issuer: Issuer) -> None:
    authority = issuer.authority()
    leaf = x509.load_pem_x509_certificate(issuer.leaf(authority).pair.chain_pem)
    leaf.verify_directly_issued_by(authority.certificate)
    points_at = leaf.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
    own = authority.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    assert points_at == own


def test_a_ca_comes_back_from_its_pem_and_shows_no_key(issuer: Issuer) -> None:
    authority = issuer.authority()
    assert read_authority(authority.cert_pem, authority.key_pem, cert_name="ca.crt", key_name="ca.key") == authority
    assert "key" not in repr(authority).lower().replace("publickey", "")


@pytest.mark.parametrize("hours", [-2, 2])
def test_a_clock_two_hours_off_makes_certificates_that_others_take(hours: int) -> None:
    leaf = leaf_of(Issuer(NAMES, clock=Clock(NOW + hours * HOUR)))
    assert leaf.not_valid_before_utc < NOW < leaf.not_valid_after_utc
