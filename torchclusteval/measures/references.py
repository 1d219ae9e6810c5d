"""The literature: citation key -> reference. Every ``source`` of the registry is one of these keys."""

from collections.abc import Mapping
from types import MappingProxyType

REFERENCES: Mapping[str, str] = MappingProxyType(
    {
        "ahn2010": "Ahn, Bagrow, Lehmann (2010). Link communities reveal multiscale complexity in networks. Nature "
        "466. doi:10.1038/nature09182",
        "amigo2009": "Amigo, Gonzalo, Artiles, Verdejo (2009). A comparison of extrinsic clustering evaluation "
        "metrics based on formal constraints. Information Retrieval 12(4). doi:10.1007/s10791-008-9066-8",
        "arganda2015": "Arganda-Carreras et al. (2015). Crowdsourcing the creation of image segmentation "
        "algorithms for connectomics. Frontiers in Neuroanatomy 9. doi:10.3389/fnana.2015.00142",
        "bagga1998": "Bagga, Baldwin (1998). Entity-based cross-document coreferencing using the vector space "
        "model. COLING-ACL. doi:10.3115/980845.980859",
        "barnes2015": "Barnes (2015). A practitioner's guide to evaluating entity resolution results. arXiv:1509.04238",
        "brohee2006": "Brohee, van Helden (2006). Evaluation of clustering algorithms for protein-protein interaction "
        "networks. BMC Bioinformatics 7. doi:10.1186/1471-2105-7-488",
        "caicedo2019": "Caicedo et al. (2019). Nucleus segmentation across imaging experiments: the 2018 Data "
        "Science Bowl. Nature Methods 16. doi:10.1038/s41592-019-0612-7",
        "collins1988": "Collins, Dent (1988). Omega: a general formulation of the Rand index of cluster recovery "
        "suitable for non-disjoint solutions. Multivariate Behavioral Research 23(2). doi:10.1207/s15327906mbr2302_6",
        "dao2019": "Dao, Bothorel, Lenca (2019). Estimating the similarity of community detection methods based on "
        "cluster size distribution. Complex Networks and Their Applications VII",
        "dhillon2003": "Dhillon, Mallela, Modha (2003). Information-theoretic co-clustering. KDD. "
        "doi:10.1145/956750.956764",
        "dom2001": "Dom (2001). An information-theoretic external cluster-validity measure. IBM Research Report "
        "RJ 10219",
        "fiscus2006": "Fiscus, Ajot, Michel, Garofolo (2006). The Rich Transcription 2006 spring meeting "
        "recognition evaluation. MLMI. doi:10.1007/11965152_28",
        "fowlkes1983": "Fowlkes, Mallows (1983). A method for comparing two hierarchical clusterings. JASA 78(383). "
        "doi:10.1080/01621459.1983.10478008",
        "gates2017": "Gates, Ahn (2017). The impact of random models on clustering similarity. JMLR 18(87)",
        "gates2019": "Gates, Wood, Hetrick, Ahn (2019). Element-centric clustering comparison unifies overlaps and "
        "hierarchy. Scientific Reports 9. doi:10.1038/s41598-019-44892-y",
        "greff2019": "Greff et al. (2019). Multi-object representation learning with iterative variational "
        "inference. ICML. arXiv:1903.00450",
        "hubert1985": "Hubert, Arabie (1985). Comparing partitions. Journal of Classification 2. "
        "doi:10.1007/BF01908075",
        "jaccard1901": "Jaccard (1901). Etude comparative de la distribution florale dans une portion des Alpes et "
        "des Jura. Bulletin de la Societe Vaudoise des Sciences Naturelles 37",
        "jain1988": "Jain, Dubes (1988). Algorithms for clustering data. Prentice Hall",
        "jerdee2024": "Jerdee, Kirkley, Newman (2024). Mutual information and the encoding of contingency tables. "
        "Physical Review E 110. arXiv:2405.05393",
        "jerdee2025": "Jerdee, Kirkley, Newman (2025). Normalized mutual information is a biased measure for "
        "classification and community detection. Nature Communications 16. arXiv:2307.01282",
        "kirillov2019": "Kirillov, He, Girshick, Rother, Dollar (2019). Panoptic segmentation. CVPR. arXiv:1801.00868",
        "kishida": "Kishida. Comparison of external measures for document clustering on synthetic data",
        "kuhn1955": "Kuhn (1955). The Hungarian method for the assignment problem. Naval Research Logistics 2. "
        "doi:10.1002/nav.3800020109",
        "kumar2017": "Kumar et al. (2017). A dataset and a technique for generalized nuclear segmentation for "
        "computational pathology. IEEE Transactions on Medical Imaging 36(7). doi:10.1109/TMI.2017.2677499",
        "lancichinetti2009": "Lancichinetti, Fortunato, Kertesz (2009). Detecting the overlapping and hierarchical "
        "community structure in complex networks. New Journal of Physics 11. doi:10.1088/1367-2630/11/3/033015",
        "larsen1999": "Larsen, Aone (1999). Fast and effective text mining using linear-time document clustering. "
        "KDD. doi:10.1145/312129.312186",
        "luiten2021": "Luiten et al. (2021). HOTA: a higher order metric for evaluating multi-object tracking. "
        "International Journal of Computer Vision 129. doi:10.1007/s11263-020-01375-2",
        "luo2005": "Luo (2005). On coreference resolution performance metrics. HLT-EMNLP. doi:10.3115/1220575.1220579",
        "luo2014": "Luo, Pradhan, Recasens, Hovy (2014). An extension of BLANC to system mentions. ACL. "
        "doi:10.3115/v1/P14-2005",
        "lutov2019": "Lutov, Khayati, Cudre-Mauroux (2019). Accuracy evaluation of overlapping and multi-resolution "
        "clustering algorithms on large datasets. IEEE BigComp. arXiv:1902.01691",
        "maska2014": "Maska et al. (2014). A benchmark for comparison of cell tracking algorithms. Bioinformatics "
        "30(11). doi:10.1093/bioinformatics/btu080",
        "mcdaid2011": "McDaid, Greene, Hurley (2011). Normalized mutual information to evaluate overlapping community "
        "finding algorithms. arXiv:1110.2515",
        "meila2007": "Meila (2007). Comparing clusterings: an information based distance. Journal of Multivariate "
        "Analysis 98(5). doi:10.1016/j.jmva.2006.11.013",
        "menestrina2010": "Menestrina, Whang, Garcia-Molina (2010). Evaluating entity resolution results. PVLDB 3(1). "
        "doi:10.14778/1920841.1920871",
        "mirkin1996": "Mirkin (1996). Mathematical classification and clustering. Kluwer",
        "moosavi2016": "Moosavi, Strube (2016). Which coreference evaluation metric do you trust? A proposal for a "
        "link-based entity aware metric. ACL. doi:10.18653/v1/P16-1060",
        "nepusz2012": "Nepusz, Yu, Paccanaro (2012). Detecting overlapping protein complexes in protein-protein "
        "interaction networks. Nature Methods 9. doi:10.1038/nmeth.1938",
        "newman2020": "Newman, Cantwell, Young (2020). Improved mutual information measure for clustering, "
        "classification, and community detection. Physical Review E 101. arXiv:1907.12581",
        "nunez2013": "Nunez-Iglesias, Kennedy, Parag, Shi, Chklovskii (2013). Machine learning of hierarchical "
        "clustering to segment 2D and 3D images. PLoS ONE 8(8). doi:10.1371/journal.pone.0071715",
        "pantel2002": "Pantel, Lin (2002). Document clustering with committees. SIGIR. doi:10.1145/564376.564412",
        "ponttuset2017": "Pont-Tuset, Arbelaez, Barron, Marques, Malik (2017). Multiscale combinatorial grouping "
        "for image segmentation and object proposal generation. IEEE TPAMI 39(1). doi:10.1109/TPAMI.2016.2537320",
        "pradhan2011": "Pradhan, Ramshaw, Marcus, Palmer, Weischedel, Xue (2011). CoNLL-2011 shared task: modeling "
        "unrestricted coreference in OntoNotes. CoNLL",
        "pradhan2014": "Pradhan, Luo, Recasens, Hovy, Ng, Strube (2014). Scoring coreference partitions of predicted "
        "mentions: a reference implementation. ACL. doi:10.3115/v1/P14-2006",
        "rand1971": "Rand (1971). Objective criteria for the evaluation of clustering methods. JASA 66(336). "
        "doi:10.1080/01621459.1971.10482356",
        "reichart2009": "Reichart, Rappoport (2009). The NVI clustering evaluation measure. CoNLL",
        "rijsbergen1979": "van Rijsbergen (1979). Information retrieval, 2nd edition. Butterworths",
        "ristani2016": "Ristani, Solera, Zou, Cucchiara, Tomasi (2016). Performance measures and a data set for "
        "multi-target, multi-camera tracking. ECCV workshops. arXiv:1609.01775",
        "rosenberg2007": "Rosenberg, Hirschberg (2007). V-measure: a conditional entropy-based external cluster "
        "evaluation measure. EMNLP-CoNLL",
        "rossetti2016": "Rossetti, Pappalardo, Rinzivillo (2016). A novel approach to evaluate community detection "
        "algorithms on ground truth. Complex Networks VII. doi:10.1007/978-3-319-30569-1_10",
        "ryant2019": "Ryant et al. (2019). The second DIHARD diarization challenge: dataset, task, and baselines. "
        "Interspeech. arXiv:1906.07839",
        "scharr2016": "Scharr et al. (2016). Leaf segmentation in plant phenotyping: a collation study. Machine "
        "Vision and Applications 27. doi:10.1007/s00138-015-0737-3",
        "schmidt2018": "Schmidt, Weigert, Broaddus, Myers (2018). Cell detection with star-convex polygons. "
        "MICCAI. arXiv:1806.03535",
        "shannon1948": "Shannon (1948). A mathematical theory of communication. Bell System Technical Journal 27",
        "strehl2002": "Strehl, Ghosh (2002). Cluster ensembles: a knowledge reuse framework for combining multiple "
        "partitions. JMLR 3",
        "sundqvist2023": "Sundqvist, Chiquet, Rigaill (2023). Adjusting the adjusted Rand index: a multinomial story. "
        "Computational Statistics 38. doi:10.1007/s00180-022-01230-7",
        "vandongen2000": "van Dongen (2000). Performance criteria for graph clustering and Markov cluster "
        "experiments. CWI report INS-R0012",
        "vilain1995": "Vilain, Burger, Aberdeen, Connolly, Hirschman (1995). A model-theoretic coreference scoring "
        "scheme. MUC-6. doi:10.3115/1072399.1072405",
        "vinh2010": "Vinh, Epps, Bailey (2010). Information theoretic measures for clusterings comparison: variants, "
        "properties, normalization and correction for chance. JMLR 11",
        "wallace1983": "Wallace (1983). Comment on a method for comparing two hierarchical clusterings. JASA 78(383)",
        "wu2009": "Wu, Xiong, Chen (2009). Adapting the right measures for k-means clustering. KDD. "
        "doi:10.1145/1557019.1557115",
        "yang2013": "Yang, Leskovec (2013). Overlapping community detection at scale: a nonnegative matrix "
        "factorization approach. WSDM. doi:10.1145/2433396.2433471",
        "zeng2002": "Zeng et al. (2002), the misclassification index as described by Rosenberg and Hirschberg (2007)",
        "zhao2001": "Zhao, Karypis (2001). Criterion functions for document clustering: experiments and analysis. "
        "University of Minnesota, report 01-40",
        "zhu2019": "Zhu, He, Liu, He, Xie, Zheng, Lyu (2019). Tools and benchmarks for automated log parsing. "
        "ICSE-SEIP. doi:10.1109/ICSE-SEIP.2019.00021",
        # indices of pairs, set matching, association
        "albatineh2006": "Albatineh, Niewiadomska-Bugaj, Mihalko (2006). On similarity indices and correction for "
        "chance agreement. Journal of Classification 23. doi:10.1007/s00357-006-0017-z",
        "arlot2019": "Arlot, Celisse, Harchaoui (2019). A kernel multiple change-point algorithm via model "
        "selection. JMLR 20",
        "baulieu1989": "Baulieu (1989). A classification of presence/absence based dissimilarity coefficients. "
        "Journal of Classification 6. doi:10.1007/BF01908601",
        "brodersen2010": "Brodersen, Ong, Stephan, Buhmann (2010). The balanced accuracy and its posterior "
        "distribution. ICPR. doi:10.1109/ICPR.2010.764",
        "cramer1946": "Cramer (1946). Mathematical methods of statistics. Princeton University Press",
        "desgraupes2018": "Desgraupes (2018). Clustering indices. Vignette of the R package clusterCrit",
        "fager1963": "Fager, McGowan (1963). Zooplankton species groups in the North Pacific. Science 140. "
        "doi:10.1126/science.140.3566.453",
        "gagolewski2025": "Gagolewski (2025). Normalised clustering accuracy: an asymmetric external cluster validity "
        "measure. Journal of Classification 42. doi:10.1007/s00357-024-09482-2",
        "goodman1954": "Goodman, Kruskal (1954). Measures of association for cross classifications. JASA 49(268). "
        "doi:10.1080/01621459.1954.10501231",
        "hamann1961": "Hamann (1961). Merkmalsbestand und Verwandtschaftsbeziehungen der Farinosae. Willdenowia 2",
        "lerman1988": "Lerman (1988). Comparing partitions (mathematical and statistical aspects). In: "
        "Classification and related methods of data analysis. North-Holland",
        "li2004": "Li, Ogihara, Ogihara (2004). On combining multiple clusterings. CIKM. doi:10.1145/1031171.1031235",
        "pearson1900": "Pearson (1900). On the criterion that a given system of deviations from the probable in "
        "the case of a correlated system of variables is such that it can be reasonably supposed to "
        "have arisen from random sampling. Philosophical Magazine 50. doi:10.1080/14786440009463897",
        "peirce1884": "Peirce (1884). The numerical measure of the success of predictions. Science 4(93). "
        "doi:10.1126/science.ns-4.93.453-a",
        "rezaei2016": "Rezaei, Franti (2016). Set matching measures for external cluster validity. IEEE TKDE "
        "28(8). doi:10.1109/TKDE.2016.2551240",
        "robert1976": "Robert, Escoufier (1976). A unifying tool for linear multivariate statistical methods: the "
        "RV-coefficient. Applied Statistics 25(3). doi:10.2307/2347233",
        "rogers1960": "Rogers, Tanimoto (1960). A computer program for classifying plants. Science 132. "
        "doi:10.1126/science.132.3434.1115",
        "severiano2011": "Severiano, Pinto, Ramirez, Carrico (2011). Adjusted Wallace coefficient as a measure of "
        "congruence between typing methods. Journal of Clinical Microbiology 49(11). "
        "doi:10.1128/JCM.00624-11",
        "simpson1943": "Simpson (1943). Mammals and the nature of continents. American Journal of Science 241(1). "
        "doi:10.2475/ajs.241.1.1",
        "sokal1963": "Sokal, Sneath (1963). Principles of numerical taxonomy. Freeman",
        "southwood1978": "Southwood (1978). Ecological methods, 2nd edition. Chapman and Hall",
        "tschuprow1939": "Tschuprow (1939). Principles of the mathematical theory of correlation. Hodge",
        "tversky1977": "Tversky (1977). Features of similarity. Psychological Review 84(4). "
        "doi:10.1037/0033-295X.84.4.327",
        "yerushalmy1947": "Yerushalmy (1947). Statistical problems in assessing methods of medical diagnosis, with "
        "special reference to X-ray techniques. Public Health Reports 62(40). doi:10.2307/4586294",
    }
)
