// Owners of OpenSSL's objects, and its errors as text. Internal to this room, the one that includes
// <openssl/>.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <string>
#include <string_view>

#include "kernels/core/base/handle.h"

namespace railgauge::trust {

using Bio = Handle<ReleasedBy<BIO*, BIO_free_all>>;
using Key = Handle<ReleasedBy<EVP_PKEY*, EVP_PKEY_free>>;
using X509Object = Handle<ReleasedBy<X509*, X509_free>>;
using RequestObject = Handle<ReleasedBy<X509_REQ*, X509_REQ_free>>;
using CrlObject = Handle<ReleasedBy<X509_CRL*, X509_CRL_free>>;
using SslContext = Handle<ReleasedBy<SSL_CTX*, SSL_CTX_free>>;

// Reads from `text`, which outlives it.
Bio reader_of(std::string_view text);
// The bytes that were written to a memory BIO.
std::string text_of(const Bio& bio);
// The next object of a PEM text; empty at its end. An error of the text is left in OpenSSL's queue.
X509Object next_certificate(const Bio& bio);
CrlObject next_crl(const Bio& bio);
// The private key of a PEM text without a passphrase; empty for any other text.
Key private_key_of(std::string_view pem);
// The public key of a PEM text; empty for any other text.
Key verifying_key_of(std::string_view pem);
// The newest error of this thread, in OpenSSL's words; clears the queue.
std::string last_error();
// Unix seconds; 0 for a time that cannot be read.
double unix_of(const ASN1_TIME* time);
// Upper-case hexadecimal digits, an even number of them.
std::string hex_of(const ASN1_INTEGER* number);
// RFC 2253.
std::string text_of(const X509_NAME* name);
// The same in lower case, with one encoding for all equal names: a key for comparison.
std::string comparable(const X509_NAME* name);

}  // namespace railgauge::trust
