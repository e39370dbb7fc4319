#include "controller/http/httplib_words.h"

namespace railgauge::http {

std::string_view words_of(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
      return "no connection: it is refused, or the host is unknown or away";
    case httplib::Error::Read:
      return "the connection ended, or its time was over, before an answer came";
    case httplib::Error::Write:
      return "the connection ended before all was sent";
    case httplib::Error::SSLConnection:
      return "TLS cannot be agreed on";
    case httplib::Error::SSLLoadingCerts:
      return "the file of its authorities cannot be read";
    case httplib::Error::SSLServerVerification:
      return "its certificate is not of an authority that is known here, or of another name";
    default:
      return "no answer";
  }
}

std::string_view words_of_time_fault(long verified) {
  switch (verified) {
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate, or its authority's, is not valid yet by this machine's clock";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "its certificate, or its authority's, has ended by this machine's clock";
    default:
      return "";
  }
}

}  // namespace railgauge::http
