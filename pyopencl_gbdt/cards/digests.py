"""The digests of the models of ``trainings``, the same on every device.

They were equal on PoCL, on Intel's runtime for processors and on Mesa's rusticl. A change of the
algorithm changes them: update them with the reason.
"""

from __future__ import annotations

#: SHA-256 of the model's file, by the training's name.
EXPECTED = {
    "logistic": "f272d682493ca37c0862dffac39b87c9b13996ed0c51e56b90f7e70d015df155",
    "sampled": "8f3950a5f2cc3ee856167a203b983d66e9a458831e202d01bbe32e7df7138e81",
    "classes": "54672643c661b08d3bda9d0bb820f50acd48c0a9ce6606c2d5c51892984c1dc0",
    "best first": "ec317aa11ea55e328b38b577ec092ef81c71b610367ef44daa23fb1f2da0b464",
    "sets": "8e8439b379af25c20ba7b07eb361c432c924e27d1583052936ae62d5f51dd499",
    "exact": "0e5db57bc7cf31348e0b9b164d7df3561fa4279e8a40fe1890acd079195c1638",
    "symmetric": "e6ca0b0fa8294b51cc196d385d733e7a93450d0274ca7b6cbe9d0160a853b31d",
    "ndcg": "ababa339ef63a1fc5e93ae70950d18a104f39fe7f75cd21c5892200bf4321d89",
    "sparse": "9b1a74bc042838566ff9027795d8332d57b649d41c73dff3bbc515214a1863bf",
    "approx": "7ea7aed34c9544c56b1d392d908b1db56b36413dbb02a0e38bc523d2930d9fa3",
    "statistics": "d3b450a2c6c51fe57c253f7cff473be42335a5d795da76ac60a04f42be00f013",
    "ordered": "33cf04f73f909458a4f60d28e0d5c561872afa3c3539da603c93c83ecf4e6fbd",
    "cox": "cbf9c5bb66703bef7dea6b2f6b8b0d20a62a7ed47860d03e513b12ff31a7e3c7",
    "goss": "32053e480e50176231a7f16be3e1758b0515767ea922cb565789a430c917d97b",
    "forest": "ce36b9af9d3dcc0b1e32bd25bf96c6b89a139f7d541575aa990db7a94a83aa10",
    "constraints": "2e3855823470fb03aff4d18addfcdb04a32f3aa66ca51115fefb4eb4861cfdf4",
    "quantiles": "7a4764dcde81c649feafb81b249ba291aaf1a03e5267921439ee8bcc7572101e",
    "pairs": "9015354f1d04b4fa2b015fd2ba3ecc5aff2429c7db76ae6787d4cc85e92dad22",
    "aft": "548875394001275af879a54f5dc132af048c63f7b0fba8028f92da36d3196235",
    "many bins": "45deacd5cebbd5292bb1ce9c97fdc473068914ec9a84b2ba7a44f2c0a76825e8",
}
