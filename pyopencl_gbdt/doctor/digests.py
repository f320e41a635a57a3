"""The digests of the inputs and of the right results of every comparison of the self-test.

``tests/doctor/test_digests.py`` computes them from the twins, and writes them anew.
"""

from __future__ import annotations

#: SHA-256 of each array, see ``known_results.digest``, by the names of ``samples`` and the array's.
DIGESTS: dict[str, dict[str, str]] = {
    "inputs 10007 600": {
        "floats": "e2b450e44cfe6bc51e5d2d59cc35831d596d5673a3a79b6ec6a11c90ebdfc8c4",
        "integers": "d8afde265d49c2b863eb2be6bad925d1497277ae49515150f20b3174405ad07d",
        "flags": "06437a9b1503643c8a0e5fd2d8c02444481fa204036ff030215165f162698490",
        "offsets": "dd4a6fd6b6b36ad13efe7d7916346d6a681ff0f2edea2b1a028a13a5b14652fc",
        "values": "4553cd4e609313974d244622f4fa67cb946e47a34d5a0c28366c7d3c1871809c",
        "weight": "7ff939017721b0c817c39393a262a21b3bd376464e6b84897e40fa0ed1cf9d06",
        "binary:logistic": "bd013094991608aa69ebe0acaf5edee585f36e776d44de10bfa941db3be57218",
        "reg:squarederror": "f4f2d2561a3aa72658abf2087439a0d23c0b8460ecd7f3ad2d1feb79392c16bb",
        "multi:softprob": "dc4defa92ff72dbaa2c288b5bdc36e94b0ad1cf294fad910def67473e0f35ba3",
    },
    "scan 10007": {
        "sums": "97133661443ce12d9a1b7d48e79709a6467546c37c9e69d93948eb05e20db729",
    },
    "reduce 10007": {
        "sum": "0a65a827106fb2d662c178df12b344c4b5dd270ef7a535a60169e8afff22b820",
    },
    "segmented_scan 10007": {
        "sums": "08059b0d84322968f600405ee08ee111bda15c1892886bee06115794d3babdd7",
    },
    "segmented_reduce 10007": {
        "sums": "13618de339c6e1732227915ff2502774effcc4a27e2c3d7d64228c4020b02a15",
    },
    "radix_sort 10007": {
        "keys": "cbe2a3f415fae4b5e8dbf9cb1a0db7072fbbcb6b36e0c9cdec5266b179aef7e7",
        "values": "28a7d3f503e9eb1fb1b91815bbc3e7242b934aef3e09b8dfe4792746a0f2c9a7",
    },
    "segmented_radix_sort 10007": {
        "keys": "ba877af2e37d475e8aad5543712f2baafc562ba9355aa4148fe94d8c0db78af7",
        "values": "3dc36292a1717235bf405df64ab4ed70c177198df79a71c838e0bd8cc57aba61",
    },
    "compact 10007": {
        "values": "24329bee6b1c1ab0a655730f0427343fe636d2f97f2cdaeca263b3fdf48bcd59",
    },
    "stable_partition 10007": {
        "values": "7809cdef4058e56b3a2ff4b134e15eaa55ed9d964abb7c48feb69fed5d09258b",
        "counts": "ece5ec165fee69f3df54ad290f7c7cd0ce68e2d06203745f1eeddb5f19d59f07",
    },
    "run_length 10007": {
        "keys": "fd687b2cbb3bcbff242191c4d0da1ef365ed9261320bedecd2ccb7c7ef5ec78d",
        "lengths": "fcc5bc93a6a3a027253505bf4c42a705f9083c662ca87b228dea8d321f28327c",
    },
    "multi_reduce 10007": {
        "sums": "4da2ca26ba5e6a916c0ad5785ff86aa037977df4efb25c4c16760631743d733d",
    },
    "multi_scan 10007": {
        "sums": "6a53fe274a420599fcd499e46e8b41e5c860a5216f0df9c93873d78538d0e6bb",
    },
    "histogram 10007": {
        "sums": "5700bdfbff4c41a4be8ad0649ceaf77851fab6e544778cd5f4751f6d0fc9d25a",
    },
    "quantile_summary 10007": {
        "values": "57d330eaae8f4566f566243f9999525b7d6967f320430ef1e07e39e1608158f5",
        "ranks": "94e5f8bfedb254363679f1a15ae573c1ba44779edef541fec98c47a5764ca186",
        "offsets": "21c087ed31892130901476570ca8b7b68d01b4ef092542ace7a25f04f295c0ec",
    },
    "training binary:logistic 600": {
        "splits": "ea1c8844949478785c87cb279fe5ef39e4f8cf2ffc0d96c2874ef24a5364f95e",
        "thresholds": "97075ed69d3f05d57f65ea02a3981419d2ba61ba85aff1bab940415c4f77dc8f",
        "gains and sums": "cda1e4b8b72025e3ef0aa6a548aaeca49c34a0e64ae8e52a61c5bd8497f4643c",
        "values and weights": "393639b15b8ee5e6ef66fae2630890ed8e53423a65ef31fd350316e7ea8a9943",
        "predictions": "db7800db3b6a4ab8724232c4dc8f741b25d9ec0bb27deb70f9ae7a9946f8144c",
    },
    "training reg:squarederror 600": {
        "splits": "c3c00835c3cd94610667f835c737cf9c3f8c12605cef2d1937ca6ea3e9a5f31c",
        "thresholds": "4618c52298fdcf6edd38e3df06f704daafb3ebfae8cb2fd9584e4397eea4ba2f",
        "gains and sums": "cd387f0f8e234b9ed72b6fd9f359c6f6526bfde62e152b665de6987cecff0e6f",
        "values and weights": "9848f194bd75baf45f6248957216b61233ece6e6b27131da03f37062a3343f80",
        "predictions": "4ec4b5df839fe014f8b27a1ea505c51f731167741027dc8c9bf068c2504b6fa1",
    },
    "training multi:softprob 600": {
        "splits": "79d79d8038e7390cec40f52420c9bcda5129c823554f068164055d1c6522097f",
        "thresholds": "a7c4d72f9030b039deca8960c14a87d41bf07262a6dfc75a7a95e89ff84b26b1",
        "gains and sums": "43353e8cf96bb00a2f964b3684eae86a9117ccf6e8aa521a81ae5a677d188cc6",
        "values and weights": "8175a004dee287fe2349b80f5713c995db36ba9dfcec6283512da7044063cfb8",
        "predictions": "fa6ae1533d2e461fe9427257588aa029ef76038fb3cb49d660cfcf8dcdde8e70",
    },
    "contributions 600": {
        "contributions": "042d262bd672da347857d88e8eaabbdc98bfba65f30f0d5140f72c9a2d8cdaea",
        "interactions": "1fd4892c791cfe8baa4f54fb9eef39b1396e87b997ce27ec6abc04ed674d4bfa",
    },
    "inputs 300 60": {
        "floats": "9d179f07002cf083e9886f4f81f80e01f44d75ce8478c51c4e0887b790fa8f0d",
        "integers": "ce98c63862cd13209c80b00c1c911ec18b0e495fbd664f97f5e4097040a0f215",
        "flags": "103c15d8150ee42ee275d40a8d842675f306f47494ad53ceaca062a0076d0cb6",
        "offsets": "bbac9c7735e9172d1098d7815898a6bbd3147303aa61be284e8abf10338087a2",
        "values": "e601ff8402bd0c3c3e3c9fe6a4c3ff4a29108c67783816cf0fba07f711dcdd1c",
        "weight": "e4d3b4a316389add49856323e896fd4e8a0eaff419988d04f5a8cc50897f5a86",
        "binary:logistic": "d6de0e90f01951df7b28debe1ba359bd1da814012c5b47e42ed176626296f824",
        "reg:squarederror": "950427de6a7c1cf2dec04577f5076812ca3617546272da2e2fa1463086534197",
        "multi:softprob": "3eebd6df16f05481f03f2696b14c3a83846a876097baa76a4f721b547d46f027",
    },
    "scan 300": {
        "sums": "4872f590f7be964dc1d1e15f379fcbdfa79454cb6622d5aced4fab6ae3ca6ed4",
    },
    "reduce 300": {
        "sum": "adab7520a484085ec559677c3e7acf889cdebd82dc9e4cb32a5a4db40922da13",
    },
    "segmented_scan 300": {
        "sums": "01d21f33d6196075fa04d7c6745c0ec25e007ee8e1e8bbb013c19444ee3f8dfd",
    },
    "segmented_reduce 300": {
        "sums": "73a2540831bf356ffe5208f69579545ba779146e47952432c742526849fbdcaa",
    },
    "radix_sort 300": {
        "keys": "86dc46ce41b0cec9d6fad9767c60cd4f252c0559d90506422df0156aadd17045",
        "values": "d09fafa70183f0ce1f4017a6cbef8f93d25fb9a064332377810e38fc6c027fed",
    },
    "segmented_radix_sort 300": {
        "keys": "9f3dc779f4486e46406de135043ae68268194c9b5bd21cd0dc1bf7230700eb3f",
        "values": "2219bd515001199b7ec2be32738a40bc6910b93eaca37d668265bd15713f0230",
    },
    "compact 300": {
        "values": "a104b60e1fce29f2325e66e58e766f3514ee2c69679b62ff4be086eedd548f8c",
    },
    "stable_partition 300": {
        "values": "15dae7c4ec03612b36ae40743f50781cb3b6c62ff00b56578ee832f6117a086f",
        "counts": "f22e9b0733b74aebec8b6cb570ae22ce29fdb850063859471fcd72dc65d1dc60",
    },
    "run_length 300": {
        "keys": "dea9cc2893740983dd037be719a402f7447b456b507fd84fc35a1f7d83a1e083",
        "lengths": "f6710f6cd809f2d8ae04eb157a07ce9827262e41bb90ddb9e5131fa895af992c",
    },
    "multi_reduce 300": {
        "sums": "f69c9bf4de45e13a47c3e3b2063718a2ee636d20820c6923c8640da52b474413",
    },
    "multi_scan 300": {
        "sums": "ebcc91c8797043cf9d5aec859844271d19a41f382617bef338bf644b7de1b479",
    },
    "histogram 300": {
        "sums": "30e75d9cdafdcc383718d80a39d3a051047208fa9b3e4bfafc58a3a3f5e7fbbd",
    },
    "quantile_summary 300": {
        "values": "aa91baeb6c5eed2f45345597017beb7b15bea0388a5d511a874b7ee2efde3ae8",
        "ranks": "60e9f109ccce6446482d690c8ac28f2678faf9d28b32a4c510b43adf9e679cd3",
        "offsets": "8db6495653c7a4bf2a1a07cc54c076a890d0c7981efc6867c41a598f317770d0",
    },
    "training binary:logistic 60": {
        "splits": "0000ea554e1fec0350c8581383c287bb181d0a9ed5f53c22e8f7bd39ed08c45a",
        "thresholds": "fb6edc08e945b3f2ce006cafea3d03b797bf4600bd296491808c366252996674",
        "gains and sums": "ed96abcdc54158cdbae427ca77e34aa720499a0bc8998e9268fe6e08b13cc642",
        "values and weights": "79505ef3966c1dec6f1e0640f7d1980f1c0175bdcd6a24dc384ae325dfd5c6f3",
        "predictions": "064f34697ca63ca15d8ce23c14bd4fb169bf749233cd7141c4d5c9f78473cd24",
    },
    "training reg:squarederror 60": {
        "splits": "4b1a6242107f1eb8c0a7f62e1a18834796e7b9c8b6b2e986b38e986b5f98b7a9",
        "thresholds": "19a6a3eebc20b18d34a65556891af61a6be61a3023d25a12e55b2435f178d32f",
        "gains and sums": "515d7bfdaaf63fa560d283b13a56b2aae47b83684733156b725b39248e3de9f7",
        "values and weights": "ff5b8e47c9bde89a3f3f854ea6828e48887cafd3f1c267ff743d91f13425125c",
        "predictions": "76e82be8cc35d74e8e7151a2966f90e965ff33b0e3fa7f432217605d489713f6",
    },
    "training multi:softprob 60": {
        "splits": "c2493357b4f55fc0fef2a5bfe56b5ae3b7407a637b5a2bb7894ae89e3e5092fd",
        "thresholds": "359e43005a0cfdcfc1dacaa6c9ba8d4ee04165db837d863db496ae90900dde2e",
        "gains and sums": "915960d7bdfdba63e65d2962a775fdc18cd607ae575b5e67cd1508cfa0956c0f",
        "values and weights": "51d3551a653817c3a0f49fe4a2692a41d85ad9b8782aae3e3d69b1db6babffae",
        "predictions": "a36322fdf90cd70017b02a41ec3842dbc2ae560cca78108d8ce5947fa8fb82b9",
    },
    "contributions 60": {
        "contributions": "b45b40565cec3163bf3adb01498734f471e66d21bc824955defb9ba38f04748c",
        "interactions": "9047d34f3d4353978b0b9aa49630180d0c3f1a29c85d946ddc08c135b01f3ae8",
    },
}
