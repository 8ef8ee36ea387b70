// spyre/kernels/avx2_isa.h — 256-bit registers, 8 lanes, masks as all-ones lanes (needs AVX2, FMA, F16C, BMI2).
#pragma once
#include "vector_isa.h"

namespace spyre::kernels {

/// Confined to one compilation.
class Avx2Isa final : public VectorIsa {
 public:
  using VectorIsa::VectorIsa;

  int lanes() const override { return 8; }
  x86::Vec half(const x86::Reg& r) const override { return r.as<x86::Vec>().xmm(); }
  x86::Mem constant_operand(std::uint8_t width, std::uint64_t bits) override;
  Lanes parked(const Lanes& value) override;
  InstId direct(Micro op, Lane lane) const override;
  InstId round_instruction(Lane lane) const override;

  Lanes mask_constant(bool value) override;
  Lanes compare(Micro op, const Lanes& a, const Lanes& b) override;
  Lanes min_max(Micro op, const Lanes& a, const Lanes& b) override;
  Lanes scale(const Lanes& a, const Lanes& b) override;
  Lanes round_bf16(const Lanes& a, NanBits nan) override;
  Lanes unordered(const Lanes& a, const Lanes& b) override;
  Lanes select(const Lanes& mask, const Lanes& if_true, const Lanes& if_false) override;
  Lanes mask_logic(Micro op, const Lanes& a, const Lanes& b) override;
  Lanes mask_not(const Lanes& a) override;
  Lanes mask_to_int(const Lanes& mask) override;
  Lanes with_width(const Lanes& mask, std::uint8_t width) override;
  Active first_lanes(const x86::Gp& count) override;
  void or_any(const x86::Mem& into, const Lanes& mask, const Active& active) override;

  Lanes multiply_i64(const Lanes& a, const Lanes& b) override;
  Lanes shift_right_arith_i64(const Lanes& a, const Lanes& count) override;
  Lanes convert_i64(const Lanes& a, Lane to) override;
  Lanes convert_to_i64(const Lanes& a) override;
  x86::Vec upper_half(const x86::Vec& r) override;
  x86::Vec join(const x86::Vec& low_half, const x86::Vec& high_half) override;

  Lanes load(DType type, const x86::Mem& at, const Active& active) override;
  void store(DType type, const x86::Mem& at, const Lanes& value, const Active& active) override;

 protected:
  x86::Vec new_vector() override { return cc.newYmm(); }
  x86::Vec unparked(const x86::Mem& memory, std::uint8_t width) override;

 private:
  x86::Vec quiet_where_nan(const x86::Vec& x, const x86::Vec& otherwise);
  Lanes compare_float(int predicate, const Lanes& a, const Lanes& b);
  Lanes compare_int(Micro op, const Lanes& a, const Lanes& b);
  x86::Vec low_words(const x86::Vec& part0, const x86::Vec& part1);
  Lanes i64_to_f64(const Lanes& a);
  Lanes load_masked(DType type, const x86::Mem& at, const Active& active);
  void store_small(DType type, const x86::Mem& at, const x86::Vec& r);
  static const Lanes& mask_of(const Active& active, std::uint8_t width);
};

}  // namespace spyre::kernels
