// spyre/device_sim/data_format.cpp — the names that upstream gives to formats and arrangements.
#include "spyre/device_sim/data_format.h"

namespace spyre::device_sim {

std::string_view name_of(DataFormat format) {
  constexpr std::array<std::string_view, kDataFormatCount> kNames{
      "SEN169_FP16", "IEEE_FP32", "INVALID",  "SEN143_FP8", "SEN152_FP8", "SEN153_FP9", "SENINT2",
      "SENINT4",     "SENINT8",   "SENINT16", "SENINT24",   "IEEE_INT64", "IEEE_INT32", "SENUINT32",
      "SENUINT2",    "IEEE_FP16", "BOOL",     "BFLOAT16",   "SEN18F_FP24"};
  return kNames[static_cast<std::size_t>(format)];
}

std::string_view name_of(ElementArrangement arrangement) {
  constexpr std::array<std::string_view, kElementArrangementCount> kNames{
      "STANDARD", "DL16_TO_FP32", "QFP8CH", "EXX2", "FP32_TO_DL16", "QFP8WT"};
  return kNames[static_cast<std::size_t>(arrangement)];
}

}  // namespace spyre::device_sim
